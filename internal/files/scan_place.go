package files

import (
	"io"
)

// ScanPlace is an open folder.
type ScanPlace interface {
	// Names lists what is in it, in any order.
	Names() ([]string, error)
	// Stat tells of a name, never of what a link leads to.
	Stat(name string) (ScanStat, error)
	// Self tells of the folder.
	Self() (ScanStat, error)
	// Enter opens a folder in it; what is no folder, or a link to one, is an error.
	Enter(name string) (ScanPlace, error)
	// Open opens a regular file in it, and waits for nothing.
	Open(name string) (ScanFile, error)
	// Target returns where a link leads.
	Target(name string) (string, error)
	Close() error
}

// ScanFile is an open file.
type ScanFile interface {
	io.ReadCloser
	Self() (ScanStat, error)
}

// ScanStat describes what identifies a file as it is now. Times are in nanoseconds.
type ScanStat struct {
	Kind          Kind
	Mode          uint16
	Size          int64
	Device, Inode uint64
	Mtime, Ctime  int64
}
