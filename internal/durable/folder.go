package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MakeFolder makes path and its missing parents with mode perm, durably. A
// folder that is already there keeps its mode.
func MakeFolder(path string, perm fs.FileMode) error {
	const verb = "make folder"
	info, err := os.Stat(path)
	if err == nil {
		if !info.IsDir() {
			return failure(verb, path, syscall.ENOTDIR)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return failure(verb, path, err)
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MakeFolder(parent, perm); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, perm); err != nil {
		// Another process may have made it meanwhile; its fsync of the
		// parent is not ours, so ours still follows.
		if info, statErr := os.Stat(path); statErr != nil || !info.IsDir() {
			return failure(verb, path, err)
		}
	}
	return failure(verb, path, syncFolder(parent))
}

// SyncFolder makes the names in a folder durable, after a rename or a link.
func SyncFolder(path string) error { return failure("sync folder", path, syncFolder(path)) }

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	if unchangeable {
		return nil // folders cannot be synced here: the system keeps names in a journal of its own
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	// Some network and FUSE file systems have no fsync for folders and say so.
	// There is nothing to wait for then; any other answer is a failed fsync.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
