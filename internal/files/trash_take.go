package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// renameChecked moves a name if nothing has the new one; something that appears meanwhile is
// replaced.
func renameChecked(from *step.Root, name string, to *step.Root, as string) error {
	if _, err := to.Lstat(as); err == nil {
		return fs.ErrExist
	}
	return rename(from, name, to, as)
}

// Contents returns the files that are in the trash, by their contents.
func (t Trash) Contents() (map[chain.Hash][]TrashEntry, error) {
	all, err := t.List()
	out := map[chain.Hash][]TrashEntry{}
	for _, e := range all {
		if e.Kind == File {
			out[e.Hash] = append(out[e.Hash], e)
		}
	}
	return out, err
}

// Take moves one of several equal files into an open folder, replacing what has that name there,
// and gives it a mode. One that came from the path original is preferred. It returns false if
// none of them is in the trash, or is what was recorded.
func (t Trash) Take(equal []TrashEntry, original string, to *step.Root, name string, perm fs.FileMode) (bool, error) {
	for _, exact := range []bool{true, false} {
		for _, e := range equal {
			if (e.Original() == original) != exact {
				continue
			}
			if taken, err := t.takeOne(e, to, name, perm); taken || err != nil {
				return taken, err
			}
		}
	}
	return false, nil
}

// takeOne moves an entry out of the trash, if its content still is what was recorded.
func (t Trash) takeOne(e TrashEntry, to *step.Root, name string, perm fs.FileMode) (bool, error) {
	dir, err := openAct(e.TrashAct)
	if err != nil {
		return false, nil // its file system is not mounted
	}
	defer dir.Close()
	item := strconv.Itoa(e.N)
	if got, err := sumFile(dir, item); err != nil || got != e.Hash {
		return false, nil // something still writes into it
	}
	if err := dir.Chmod(item, perm); err != nil {
		return false, err
	}
	if err := rename(dir, item, to, name); err != nil {
		return false, err
	}
	t.forgetAct(e.TrashAct)
	return true, nil
}

// Restore moves an entry back to where it was, or to another path. It refuses with CONFLICT if
// something is there.
func (t Trash) Restore(e TrashEntry, to string) (string, error) {
	dir, err := openAct(e.TrashAct)
	if err != nil {
		return to, durable.Failure("open", e.where(), err)
	}
	defer dir.Close()
	var folder *step.Root
	if to == "" {
		to = e.Original()
		folder, err = openParent(e)
	} else if to, err = filepath.Abs(to); err == nil {
		folder, err = step.OpenRoot(filepath.Dir(to))
	}
	if err != nil {
		return to, durable.Failure("restore", to, err)
	}
	defer folder.Close()
	err = renameNew(dir, strconv.Itoa(e.N), folder, filepath.Base(to))
	if errors.Is(err, fs.ErrExist) {
		return to, fault.New(fault.Conflict, "there is something at %s", to).WithHint("nothing was touched; choose another path with --to")
	}
	if errors.Is(err, syscall.EXDEV) {
		return to, fault.New(fault.StorageIO, "%s is on another file system than the trash", to).
			WithHint("nothing was touched; restore it to %s, and copy it from there", filepath.Dir(e.Original()))
	}
	if err == nil {
		err = syncFolder(folder)
	}
	if err != nil {
		return to, durable.Failure("restore", to, err)
	}
	t.forgetAct(e.TrashAct)
	return to, nil
}

// openParent opens the folder that an entry was in, and makes it where it is gone. It never
// leaves the root of the act, whatever links there are now.
func openParent(e TrashEntry) (*step.Root, error) {
	if e.Path == "." {
		if err := step.MkdirAll(filepath.Dir(e.Root), 0o755); err != nil {
			return nil, err
		}
		return step.OpenRoot(filepath.Dir(e.Root))
	}
	if err := step.MkdirAll(e.Root, 0o755); err != nil {
		return nil, err
	}
	root, err := step.OpenRoot(e.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(e.Path), 0o755); err != nil {
		return nil, err
	}
	return root.OpenRoot(path.Dir(e.Path))
}

// Delete deletes an entry for good.
func (t Trash) Delete(e TrashEntry) error {
	dir, err := openAct(e.TrashAct)
	if err != nil {
		return durable.Failure("open", e.where(), err)
	}
	defer dir.Close()
	item := strconv.Itoa(e.N)
	if e.Kind == Dir { // programs make folders that their owner may not write to
		fs.WalkDir(dir.FS(), item, func(at string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dir.Chmod(at, 0o700)
			}
			return nil
		})
	}
	if err := dir.RemoveAll(item); err != nil {
		return durable.Failure("remove", e.where(), err)
	}
	t.forgetAct(e.TrashAct)
	return nil
}

// forgetAct removes the record of an act that has no items any more. What it cannot remove is
// not listed all the same.
func (t Trash) forgetAct(a TrashAct) {
	if _, err := os.Lstat(a.Place); err != nil {
		return // its file system is not mounted
	}
	err := step.Remove(filepath.Join(a.Place, a.ID)) // fails while something is in it
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		step.Remove(t.recordFile(a.ID))
	}
}

// unusedFor sets how long the record of an act stays that moved nothing: its process may be
// about to.
const unusedFor = time.Hour

// Prune removes the records of acts that moved nothing, because their process was killed.
func (t Trash) Prune(now time.Time) error {
	all, err := t.acts()
	for _, a := range all {
		if now.Sub(a.At) > unusedFor {
			t.forgetAct(a)
		}
	}
	return err
}

// Forget deletes contents from the trash for good, also those in folders, and returns how many
// there were.
func (t Trash) Forget(contents map[chain.Hash]bool) (n int, err error) {
	all, err := t.List()
	if err != nil {
		return 0, err
	}
	for _, e := range all {
		if e.Kind != Dir {
			if contents[e.Hash] {
				n++
				err = errors.Join(err, t.Delete(e))
			}
			continue
		}
		found, failed := forgetBelow(e, contents)
		n, err = n+found, errors.Join(err, failed)
	}
	return n, err
}

// forgetBelow deletes the files with these contents in a folder that is in the trash.
func forgetBelow(e TrashEntry, contents map[chain.Hash]bool) (n int, err error) {
	dir, err := openAct(e.TrashAct)
	if err != nil {
		return 0, nil // it is gone, or not mounted
	}
	defer dir.Close()
	walked := fs.WalkDir(dir.FS(), strconv.Itoa(e.N), func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if h, err := sumFile(dir, at); err != nil || !contents[h] {
			return nil
		}
		n++
		return dir.Remove(at)
	})
	return n, durable.Failure("remove from", e.where(), walked)
}
