// Package content keeps what the hashes of states stand for: folders, files and targets of
// links. It is a folder of packs beside the database; nothing of it is in a repository.
//
//	packs/<number>.pack     objects that were kept at one moment
//	generation              changes when something was dropped
//
// It promises:
//
//   - When Commit returns nil, everything that was added is on disk: one new pack, synced
//     before it gets its name, then its folder. A pack is never changed.
//   - What Get returns has the hash that was asked for; anything else is STORAGE_CORRUPT, and
//     what is not there NOT_FOUND.
//   - An object can be named by the id that a git repository has for it instead of being
//     kept. It is asked for there, and held against its hash.
//   - A content is kept once, compressed, however many states name it.
//   - Several processes can add and read at once. Drop must be alone with those who add.

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
