// Package step has the calls of package os by which ramet changes files. They do what package os does, and in a
// build for tests each is a step that is counted, and before which the process can be killed or made to fail.
//
// It promises that a released ramet has nothing of that: there Hook is nil, and nothing sets it.
package step

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Hook is called before each step with its label, if it is not nil. The step is not taken if it returns an error,
// which is then the error of the step. It may be called by many goroutines at once.
//
// A label is the name of an operation, such as "rename", or "place/operation", such as "wal/write".
var Hook func(label string) error

// At marks a step that is not a call of this package, such as a write of a database engine.
func At(label string) error {
	if Hook == nil {
		return nil
	}
	return Hook(label)
}

// Rename calls os.Rename.
func Rename(from, to string) error {
	if err := At("rename"); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return os.Rename(from, to)
}

// Link calls os.Link.
func Link(from, to string) error {
	if err := At("link"); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	return os.Link(from, to)
}

// Remove calls os.Remove.
func Remove(path string) error {
	return take("remove", path, func() error { return os.Remove(path) })
}

// RemoveAll calls os.RemoveAll. If steps are counted, each file and folder is one.
func RemoveAll(path string) error {
	if Hook != nil {
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			if err := RemoveAll(filepath.Join(path, e.Name())); err != nil {
				return err
			}
		}
		if _, err := os.Lstat(path); err == nil {
			if err := atPath("remove", path); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(path)
}

// Mkdir calls os.Mkdir.
func Mkdir(path string, perm fs.FileMode) error {
	return take("mkdir", path, func() error { return os.Mkdir(path, perm) })
}

// MkdirAll calls os.MkdirAll. If steps are counted, each new folder is one.
func MkdirAll(path string, perm fs.FileMode) error {
	if Hook != nil {
		if _, err := os.Stat(path); err == nil {
			return os.MkdirAll(path, perm)
		}
		if parent := filepath.Dir(path); parent != path {
			if err := MkdirAll(parent, perm); err != nil {
				return err
			}
		}
		if err := atPath("mkdir", path); err != nil {
			return err
		}
	}
	return os.MkdirAll(path, perm)
}

// Chmod calls os.Chmod.
func Chmod(path string, mode fs.FileMode) error {
	return take("chmod", path, func() error { return os.Chmod(path, mode) })
}

// WriteFile calls os.WriteFile.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	return take("write", path, func() error { return os.WriteFile(path, data, perm) })
}

// atPath does what At does for a path, with the error that package os would return.
func atPath(op, path string) error {
	if err := At(op); err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// take calls a function that takes a step.
func take(op, path string, step func() error) error {
	if err := atPath(op, path); err != nil {
		return err
	}
	return step()
}
