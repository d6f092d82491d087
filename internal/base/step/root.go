package step

import (
	"io/fs"
	"os"
)

// Root is an os.Root in which changes are steps.
type Root struct{ *os.Root }

// OpenRoot calls os.OpenRoot.
func OpenRoot(path string) (*Root, error) { return wrapRoot(os.OpenRoot(path)) }

// In returns a root that was opened by other means.
func In(r *os.Root) *Root { return &Root{r} }

func wrapRoot(r *os.Root, err error) (*Root, error) {
	if err != nil {
		return nil, err
	}
	return &Root{r}, nil
}

// OpenRoot opens a folder in this one.
func (r *Root) OpenRoot(name string) (*Root, error) { return wrapRoot(r.Root.OpenRoot(name)) }

func (r *Root) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	return wrapFile(r.Root.OpenFile(name, flag, perm))
}

func (r *Root) Open(name string) (*File, error) { return r.OpenFile(name, os.O_RDONLY, 0) }

func (r *Root) Remove(name string) error {
	return take("remove", name, func() error { return r.Root.Remove(name) })
}

func (r *Root) RemoveAll(name string) error {
	return take("remove", name, func() error { return r.Root.RemoveAll(name) })
}

func (r *Root) Rename(from, to string) error {
	if err := At("rename"); err != nil {
		return &os.LinkError{Op: "renameat", Old: from, New: to, Err: err}
	}
	return r.Root.Rename(from, to)
}

func (r *Root) Mkdir(name string, perm fs.FileMode) error {
	return take("mkdir", name, func() error { return r.Root.Mkdir(name, perm) })
}

func (r *Root) MkdirAll(name string, perm fs.FileMode) error {
	return take("mkdir", name, func() error { return r.Root.MkdirAll(name, perm) })
}

func (r *Root) Symlink(target, name string) error {
	return take("symlink", name, func() error { return r.Root.Symlink(target, name) })
}

func (r *Root) Chmod(name string, mode fs.FileMode) error {
	return take("chmod", name, func() error { return r.Root.Chmod(name, mode) })
}
