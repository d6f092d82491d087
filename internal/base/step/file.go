package step

import (
	"io"
	"io/fs"
	"os"
)

// File is an open file whose changes are steps.
type File struct{ *os.File }

// Of returns a file that was opened by other means.
func Of(f *os.File) *File { return &File{f} }

// OpenFile calls os.OpenFile.
func OpenFile(path string, flag int, perm fs.FileMode) (*File, error) {
	return wrapFile(os.OpenFile(path, flag, perm))
}

// CreateTemp calls os.CreateTemp.
func CreateTemp(dir, pattern string) (*File, error) { return wrapFile(os.CreateTemp(dir, pattern)) }

func wrapFile(f *os.File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

func (f *File) Write(b []byte) (int, error) {
	if err := atPath("write", f.Name()); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

func (f *File) WriteAt(b []byte, offset int64) (int, error) {
	if err := atPath("write", f.Name()); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, offset)
}

// ReadFrom lets io.Copy use what the system has for copying a file.
func (f *File) ReadFrom(from io.Reader) (int64, error) {
	if err := atPath("write", f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadFrom(from)
}

func (f *File) Truncate(size int64) error {
	return take("truncate", f.Name(), func() error { return f.File.Truncate(size) })
}

func (f *File) Chmod(mode fs.FileMode) error {
	return take("chmod", f.Name(), func() error { return f.File.Chmod(mode) })
}

func (f *File) Sync() error { return take("sync", f.Name(), f.File.Sync) }
