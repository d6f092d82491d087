package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// MakeFolder makes path and its missing parents with mode perm, durably. A
// folder that is already there keeps its mode.
func MakeFolder(path string, perm fs.FileMode) error { return MakeFolders(perm, path) }

// MakeFolders does what MakeFolder does for several. The names are made first and then synced: a file system
// with a journal writes it once for all of them.
func MakeFolders(perm fs.FileMode, paths ...string) error {
	var changed []string // folders with new names, those above first
	for _, path := range paths {
		if err := makeFolder(path, perm, &changed); err != nil {
			return err
		}
	}
	for i, folder := range slices.Backward(changed) {
		if slices.Contains(changed[i+1:], folder) {
			continue // synced already
		}
		if err := syncFolder(folder); err != nil {
			return Failure(makeVerb, folder, err)
		}
	}
	return nil
}

const makeVerb = "make folder"

func makeFolder(path string, perm fs.FileMode, changed *[]string) error {
	info, err := os.Stat(path)
	if err == nil {
		if !info.IsDir() {
			return Failure(makeVerb, path, syscall.ENOTDIR)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Failure(makeVerb, path, err)
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeFolder(parent, perm, changed); err != nil {
			return err
		}
	}
	if err := step.Mkdir(path, perm); err != nil {
		// Another process may have made it meanwhile; its fsync of the
		// parent is not ours, so ours still follows.
		if info, statErr := os.Stat(path); statErr != nil || !info.IsDir() {
			return Failure(makeVerb, path, err)
		}
	}
	*changed = append(*changed, parent)
	return nil
}

// CheckPrivate reports whether path is a folder that no other account can have made or can write:
// it is owned by this user, has mode 0700 and is no symbolic link. Anything else is DENIED.
func CheckPrivate(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return Failure("look at", path, err)
	}
	if !info.IsDir() || !unchangeable && info.Mode().Perm() != 0o700 || !ownedByUser(info) {
		return fault.New(fault.Denied, "%s is not a folder that only you can use", path).
			WithHint("look who made it; it must be a folder of yours with mode 0700")
	}
	return nil
}

// SyncFolder makes the names in a folder durable, after a rename or a link.
func SyncFolder(path string) error { return Failure("sync folder", path, syncFolder(path)) }

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
	err = step.Of(d).Sync()
	// Some network and FUSE file systems have no fsync for folders and say so.
	// There is nothing to wait for then; any other answer is a failed fsync.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// RealFolder returns the path of a folder without links on its way; NOT_FOUND, with its absolute path, if it is missing.
func RealFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.StorageIO, "find folder: %w", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return abs, fault.New(fault.NotFound, "no folder %s: %w", dir, err)
	}
	if err != nil {
		return abs, fault.New(fault.StorageIO, "find folder: %w", err)
	}
	return real, nil
}
