package scan

import (
	"io"

	"ramet/internal/files"
)

// Place is an open folder.
type Place interface {
	// Names lists what is in it, in any order.
	Names() ([]string, error)
	// Stat tells of a name, never of what a link leads to.
	Stat(name string) (Stat, error)
	// Self tells of the folder.
	Self() (Stat, error)
	// Enter opens a folder in it; what is no folder, or a link to one, is an error.
	Enter(name string) (Place, error)
	// Open opens a regular file in it, and waits for nothing.
	Open(name string) (File, error)
	// Target is where a link leads.
	Target(name string) (string, error)
	Close() error
}

// File is an open file.
type File interface {
	io.ReadCloser
	Self() (Stat, error)
}

// Stat is what identifies a file as it is now. Times are in nanoseconds.
type Stat struct {
	Kind          files.Kind
	Mode          uint16
	Size          int64
	Device, Inode uint64
	Mtime, Ctime  int64
}
