package durable

import (
	"io"
	"io/fs"
	"path/filepath"

	"ramet/internal/base/step"
)

// pending is a file that has no name of its own yet: a temporary one beside the name that
// it is to get, since only there a rename is certain to stay on one file system.
type pending struct {
	*step.File
	path string
	gone bool // renamed, or removed
	shut bool
}

// preparePending writes data to a pending file for path.
func preparePending(path string, content func(io.Writer) error, perm fs.FileMode) (*pending, error) {
	f, err := step.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return nil, err
	}
	p := &pending{File: f, path: path}
	if err := f.Chmod(perm); err != nil && !unchangeable {
		p.drop()
		return nil, err
	}
	if err := content(f); err != nil {
		p.drop()
		return nil, err
	}
	return p, nil
}

// writeWhole returns a function that writes data, for files that are in memory.
func writeWhole(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// replace gives the file its name, replacing any other file of that name.
func (p *pending) replace() error {
	if err := p.Sync(); err != nil {
		return err
	}
	return p.rename()
}

// rename is replace without a word to the disk.
func (p *pending) rename() error {
	p.shut = true
	if err := p.Close(); err != nil {
		return err
	}
	if err := step.Rename(p.Name(), p.path); err != nil {
		return err
	}
	p.gone = true
	return nil
}

// drop takes the temporary name away, if it is still there.
func (p *pending) drop() error {
	if !p.shut {
		p.shut = true
		p.Close()
	}
	if p.gone {
		return nil
	}
	p.gone = true
	return step.Remove(p.Name())
}
