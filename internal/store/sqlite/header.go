package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"ramet/internal/base/fault"
)

var (
	errReadOnlyFS = syscall.EROFS
	errNoSpace    = syscall.ENOSPC
)

// header is the beginning of an SQLite file (see "Database File Format" in
// SQLite's documentation).
type header struct {
	magic      string
	pageSize   int64
	pages      int64 // 0 if the file's own count is not to be trusted
	appID      uint32
	bytes      int
	walPresent bool
	unborn     bool // its first transaction was broken off; SQLite makes it empty again
}

func readHeader(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, fault.New(fault.StorageIO, "open %s: %w", path, err)
	}
	defer f.Close()
	var b [100]byte
	n, err := io.ReadFull(f, b[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return header{}, fault.New(fault.StorageIO, "read %s: %w", path, err)
	}
	h := header{bytes: n, magic: string(b[:16]), pageSize: int64(binary.BigEndian.Uint16(b[16:])),
		appID: binary.BigEndian.Uint32(b[68:])}
	if h.pageSize == 1 {
		h.pageSize = 64 << 10
	}
	// The count holds only if it was written with the last change.
	if binary.BigEndian.Uint32(b[24:]) == binary.BigEndian.Uint32(b[92:]) {
		h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	}
	if log, err := os.Stat(path + "-wal"); err == nil {
		h.walPresent = log.Size() > 0
	}
	h.unborn, err = isUnborn(path + "-journal")
	return h, err
}

// journalMagic begins the journal of a transaction that was not ended.
const journalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// isUnborn reports whether a journal is that of the first transaction of a file: the power failed
// before there was anything in it.
func isUnborn(journal string) (bool, error) {
	f, err := os.Open(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fault.New(fault.StorageIO, "open %s: %w", journal, err)
	}
	defer f.Close()
	var b [20]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return false, nil // it is not begun
	}
	return string(b[:8]) == journalMagic && binary.BigEndian.Uint32(b[16:]) == 0, nil
}

const magic = "SQLite format 3\x00"

func (h header) check(path string, size int64) error {
	switch {
	case size == 0 && h.walPresent:
		return truncatedFile(path) // SQLite would throw the log away
	case size == 0, h.unborn:
		return nil // new, or killed before its first commit
	case h.bytes < 100 && h.magic[:min(h.bytes, len(magic))] == magic[:min(h.bytes, len(magic))]:
		return truncatedFile(path)
	case h.magic != magic:
		return foreignFile(path)
	case h.pages > 0 && size < h.pages*h.pageSize && !h.walPresent:
		// With a log, this may be a checkpoint that was broken off after its
		// first page, by a crash or a full disk. SQLite continues with it.
		return truncatedFile(path)
	case h.appID != applicationID && (h.appID != 0 || h.pages > 1 && !h.walPresent):
		return foreignFile(path)
	}
	return nil
}

func truncatedFile(path string) error {
	return fault.New(fault.StorageCorrupt, "%s is cut: it is shorter than its header says", path).
		WithHint("restore it from a backup; nothing was changed")
}

// readOnly honours the file's mode even for root, who could write all the same.
func readOnly(path string, info os.FileInfo) bool {
	return info.Mode()&0o222 == 0 || !writable(path)
}
