package files

// A pack is
//
//	"ramet-pack/1\n" · payloads · index · footer
//
// with an index of the repository's folder (length, 4 bytes; then its bytes), and for each
// object: hash (32) · form (1: 'z' zstd, 'g' an id of git,
// 'A' to 'X' a delta of a folder in zstd, one to twenty-four away from a whole one) · offset (8) · length (4) · length of the
// content (8). The footer is: offset of the index (8) · SHA-256 of the index (32). Numbers are
// big-endian.
