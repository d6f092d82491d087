package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/core/config"
)

// TrashInProject returns the place of a trash in the project of a folder.
func TrashInProject(root string) string {
	project, err := config.ProjectFolder(root)
	if err != nil {
		project = root
	}
	return filepath.Join(project, ".ramet", "trash")
}

// places lists the folders that can hold items of a root, the preferred one first.
func (t Trash) places(root string) []string {
	return []string{filepath.Join(t.Dir, "items"), TrashInProject(root)}
}

// Begin records that items of a folder are about to be moved, and returns the act. Items whose
// folder can be renamed into no place are refused (STORAGE_FULL, STORAGE_READONLY, DENIED or
// STORAGE_IO), before anything is touched.
func (t Trash) Begin(verb string, a TrashAct) (TrashAct, error) {
	a.ID, a.At, a.Verb = strings.ToLower(rand.Text()[:8]), time.Now().UTC(), verb
	var refusals []string
	var last error
	for _, place := range t.places(a.Root) {
		a.Place = place
		err := t.prepare(a)
		if err == nil {
			err = t.writeRecord(a)
		}
		if err == nil {
			return a, nil
		}
		step.Remove(filepath.Join(place, a.ID))
		why := err.Error()
		if f, ok := fault.Of(err); ok {
			why = f.Message
		}
		refusals, last = append(refusals, why), err
	}
	return a, fault.New(fault.CodeOf(last), "what would be removed cannot be moved to the trash, so nothing was touched: %s", strings.Join(refusals, "; ")).
		WithHint("the trash has to be on the same file system: look at %s", a.Place)
}

// prepare makes the folder of an act, and tries to rename a file into it from each folder that
// items are in.
func (t Trash) prepare(a TrashAct) error {
	place, err := makePlace(a.Place)
	if err != nil {
		return err
	}
	defer place.Close()
	if err := place.Mkdir(a.ID, 0o700); err != nil {
		return durable.Failure("make folder", filepath.Join(a.Place, a.ID), err)
	}
	to, err := OpenTrash(place, a.ID)
	if err != nil {
		return err
	}
	defer to.Close()
	root, err := step.OpenRoot(a.Root)
	if err != nil {
		return durable.Failure("open", a.Root, err)
	}
	defer root.Close()
	tried := map[string]bool{}
	for _, i := range a.Items {
		dir := path.Dir(i.Path)
		if i.Path == "." { // the folder above is tried
			if root, err = step.OpenRoot(filepath.Dir(a.Root)); err != nil {
				return durable.Failure("open", filepath.Dir(a.Root), err)
			}
			defer root.Close()
		}
		if tried[dir] {
			continue
		}
		tried[dir] = true
		if err := probe(root, dir, to, "."+a.ID); err != nil {
			return durable.Failure("move a file to the trash from", filepath.Join(a.Root, filepath.FromSlash(dir)), err)
		}
	}
	return nil
}

// probe renames an empty file from a folder into the trash. A folder that the user may not
// write into says so when its turn comes.
func probe(root *step.Root, dir string, to *step.Root, name string) error {
	name = ".ramet-trash" + name // no part of any state
	at := path.Join(dir, name)
	f, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Close()
	defer root.Remove(at)
	from, err := root.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := rename(from, name, to, name); err != nil {
		return err
	}
	return to.Remove(name)
}

// makePlace makes a place and opens it. The two folders above the items are ramet's own; none
// of them may be a link, or belong to another user.
func makePlace(place string) (*step.Root, error) {
	if err := step.MkdirAll(filepath.Dir(filepath.Dir(place)), 0o700); err != nil {
		return nil, durable.Failure("make folder", place, err)
	}
	dir, err := step.OpenRoot(filepath.Dir(filepath.Dir(place)))
	if err != nil {
		return nil, durable.Failure("open", place, err)
	}
	above := map[string]fs.FileMode{filepath.Base(filepath.Dir(place)): 0o755, filepath.Base(place): 0o700}
	for _, name := range []string{filepath.Base(filepath.Dir(place)), filepath.Base(place)} {
		err := dir.Mkdir(name, above[name])
		if err != nil && !errors.Is(err, fs.ErrExist) {
			dir.Close()
			return nil, durable.Failure("make folder", place, err)
		}
		next, err := OpenTrash(dir, name)
		dir.Close()
		if errors.Is(err, ErrNoFolder) {
			return nil, fault.New(fault.Denied, "%s is not a folder, or is reached through a link", place).
				WithHint("nothing was touched; look where it leads, and remove it")
		}
		if err != nil {
			return nil, durable.Failure("open", place, err)
		}
		dir = next
	}
	if info, err := dir.Stat("."); err != nil || !ownedByUser(info) {
		dir.Close()
		return nil, durable.Failure("use", place, errors.Join(syscall.EACCES, err))
	}
	if err := dir.Chmod(".", 0o700); err != nil {
		dir.Close()
		return nil, durable.Failure("use", place, err)
	}
	if err := ignoreAll(dir); err != nil {
		dir.Close()
		return nil, durable.Failure("write", filepath.Join(place, ".gitignore"), err)
	}
	return dir, nil
}

// ignoreAll lets git ignore everything in a folder, whatever a clone has put there.
func ignoreAll(dir *step.Root) error {
	const name, rule = ".gitignore", "*\n"
	info, err := dir.Lstat(name)
	if err == nil && info.Mode().IsRegular() {
		if text, err := dir.ReadFile(name); err == nil && string(text) == rule {
			return nil
		}
	}
	if err := dir.RemoveAll(name); err != nil {
		return err
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(rule)
	return errors.Join(err, f.Close())
}

// openAct opens the folder with the items of an act.
func openAct(a TrashAct) (*step.Root, error) {
	dir, err := step.OpenRoot(filepath.Dir(filepath.Dir(a.Place)))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{filepath.Base(filepath.Dir(a.Place)), filepath.Base(a.Place), a.ID} {
		next, err := OpenTrash(dir, name)
		dir.Close()
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// Move moves a name of a folder into the trash, as item n of an act.
func (a TrashAct) Move(from *step.Root, name string, n int) error {
	to, err := openAct(a)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := rename(from, name, to, strconv.Itoa(n)); err != nil {
		return err
	}
	return syncFolder(to)
}

// MoveAll moves all items of an act, and returns those that it moved before an error.
func (a TrashAct) MoveAll() ([]TrashEntry, error) {
	root, err := step.OpenRoot(a.Root)
	if err != nil {
		return nil, durable.Failure("open", a.Root, err)
	}
	defer root.Close()
	var moved []TrashEntry
	for i, item := range a.Items {
		from, err := root.OpenRoot(path.Dir(item.Path))
		if err == nil {
			err = a.Move(from, path.Base(item.Path), i+1)
			from.Close()
		}
		if err != nil {
			return moved, durable.Failure("move to the trash", filepath.Join(a.Root, filepath.FromSlash(item.Path)), err)
		}
		moved = append(moved, a.Entry(i+1))
	}
	return moved, nil
}

func syncFolder(dir *step.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ErrNoFolder is a link or a file where a folder should be.
var ErrNoFolder = errors.New("no folder")

// OpenTrash opens a folder in another one. A link is ErrNoFolder, also one that takes the
// folder's place meanwhile.
func OpenTrash(dir *step.Root, name string) (*step.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, ErrNoFolder
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := next.Stat("."); err != nil || !os.SameFile(info, now) {
		next.Close()
		return nil, ErrNoFolder
	}
	return next, nil
}
