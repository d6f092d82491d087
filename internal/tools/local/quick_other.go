//go:build !unix

package local

import (
	"io/fs"
	"path"
)

// text reads a whole text file of the folder, of at most the largest size, into a buffer, and
// says when it was changed.
func (f *folder) text(name string, buffer *[]byte) ([]byte, int64, error) {
	s, ok := f.handle(name)
	if !ok {
		return nil, 0, fs.ErrInvalid
	}
	body, err := s.text(buffer)
	return body, s.info.ModTime().UnixNano(), err
}

// handle is the place of a file in the folder. ok is false for what is no regular file.
func (f *folder) handle(name string) (*handle, bool) {
	info, err := f.dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	return &handle{dir: f.dir, name: name, rel: path.Join(f.rel, name), info: info}, true
}
