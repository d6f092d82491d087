package files

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/core/config"
)

// Trash is the trash of a workspace. The zero value is not usable: Dir must be set.
type Trash struct {
	Dir string // ramet's own; made when needed
}

// TrashAct is one act that moved items into the trash.
type TrashAct struct {
	ID    string      `json:"id"`
	At    time.Time   `json:"at"`
	Verb  string      `json:"verb"`            // rewind, undo, restore, merge, worktree
	Agent id.Agent    `json:"agent,omitempty"` // whose files they are; empty: unknown
	Root  string      `json:"root"`            // the folder that the paths of the items start from
	Place string      `json:"place"`           // the folder that holds the items of this act and of others
	Items []TrashItem `json:"items"`           // item N is Items[N-1]
}

// TrashItem is a file, link or folder in the trash.
type TrashItem struct {
	Path string     `json:"path"` // below the root; "." is the root itself
	Kind Kind       `json:"kind"`
	Size int64      `json:"size"`
	Hash chain.Hash `json:"hash"`           // of files and links; as it was when it was moved
	Tree *TrashTree `json:"tree,omitempty"` // of a worktree; else nil
}

// TrashTree describes the git worktree that an item was.
type TrashTree struct {
	Repository string `json:"repository"` // the folder that its worktrees share
	Branch     string `json:"branch,omitempty"`
	Commit     string `json:"commit"`
}

func (t Trash) recordsDir() string          { return filepath.Join(t.Dir, "records") }
func (t Trash) recordFile(id string) string { return filepath.Join(t.recordsDir(), id+".json") }

// changePaths replaces all paths of an act. They are stored escaped, because they need not be UTF-8.
func (a TrashAct) changePaths(change func(string) (string, error)) (TrashAct, error) {
	a.Items = slices.Clone(a.Items)
	paths := []*string{&a.Root, &a.Place}
	for i := range a.Items {
		paths = append(paths, &a.Items[i].Path)
	}
	var failed error
	for _, p := range paths {
		var err error
		*p, err = change(*p)
		failed = errors.Join(failed, err)
	}
	return a, failed
}

// writeRecord puts an act on disk.
func (t Trash) writeRecord(a TrashAct) error {
	stored, _ := a.changePaths(func(p string) (string, error) { return url.PathEscape(p), nil })
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	if err := durable.MakeFolder(t.recordsDir(), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(t.recordFile(a.ID), text, 0o600)
}

// Act reads the record of an act. NOT_FOUND if there is none.
func (t Trash) Act(id string) (TrashAct, error) {
	text, err := os.ReadFile(t.recordFile(id))
	if errors.Is(err, fs.ErrNotExist) || !filepath.IsLocal(id) {
		return TrashAct{}, fault.New(fault.NotFound, "nothing in the trash is called %.40q", id).WithHint("`ramet trash` lists its contents")
	}
	if err != nil {
		return TrashAct{}, durable.Failure("read", t.recordFile(id), err)
	}
	a, err := parseRecord(text)
	if err != nil {
		return a, fault.New(fault.StorageCorrupt, "read %s: %w", t.recordFile(id), err).
			WithHint("it describes files in the trash, which stay where they are; look at them, then remove it")
	}
	return a, nil
}

func parseRecord(text []byte) (a TrashAct, err error) {
	if err := json.Unmarshal(text, &a); err != nil {
		return a, err
	}
	a, err = a.changePaths(url.PathUnescape)
	for _, i := range a.Items {
		if err == nil && (i.Kind == 0 || !filepath.IsLocal(i.Path)) {
			err = errors.New("an item in it is none")
		}
	}
	return a, err
}

// acts reads all records, the oldest first.
func (t Trash) acts() ([]TrashAct, error) {
	entries, err := os.ReadDir(t.recordsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, durable.Failure("read", t.recordsDir(), err)
	}
	var out []TrashAct
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(id, ".") {
			continue
		}
		a, err := t.Act(id)
		if fault.Is(err, fault.NotFound) {
			continue // its last item has just left the trash
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b TrashAct) int { return a.At.Compare(b.At) })
	return out, nil
}

// TrashEntry is an item that is in the trash.
type TrashEntry struct {
	TrashAct
	TrashItem
	N int // of the item in its act, from 1
}

// Entry returns item n of an act, whether or not it is in the trash.
func (a TrashAct) Entry(n int) TrashEntry { return TrashEntry{a, a.Items[n-1], n} }

// Name returns what the commands call the entry.
func (e TrashEntry) Name() string { return e.TrashAct.ID + "." + strconv.Itoa(e.N) }

// Original returns the path that it was moved from.
func (e TrashEntry) Original() string { return filepath.Join(e.Root, filepath.FromSlash(e.Path)) }

// where returns the path of the item in the trash.
func (e TrashEntry) where() string { return filepath.Join(e.Place, e.TrashAct.ID, strconv.Itoa(e.N)) }

// List lists what is in the trash, the oldest first.
func (t Trash) List() ([]TrashEntry, error) {
	all, err := t.acts()
	if err != nil {
		return nil, err
	}
	var out []TrashEntry
	for _, a := range all {
		out = append(out, a.Present()...)
	}
	return out, nil
}

// Present lists the items of an act that are in the trash.
func (a TrashAct) Present() []TrashEntry {
	dir, err := openAct(a)
	if err != nil {
		return nil // nothing was moved, or its file system is not mounted
	}
	defer dir.Close()
	var out []TrashEntry
	for i := range a.Items {
		if _, err := dir.Lstat(strconv.Itoa(i + 1)); err == nil {
			out = append(out, a.Entry(i+1))
		}
	}
	return out
}

// Find returns the entries that name means: an act, one of its items, or an original path.
func (t Trash) Find(name string) ([]TrashEntry, error) {
	all, err := t.List()
	if err != nil {
		return nil, err
	}
	act, one := slices.Clone(all), slices.Clone(all)
	act = slices.DeleteFunc(act, func(e TrashEntry) bool { return e.TrashAct.ID != name && e.Name() != name })
	if len(act) > 0 {
		return act, nil
	}
	clean := filepath.Clean(name)
	abs, err := filepath.Abs(clean)
	if err != nil {
		return nil, err
	}
	one = slices.DeleteFunc(one, func(e TrashEntry) bool { return e.Original() != abs && filepath.FromSlash(e.Path) != clean })
	switch {
	case len(one) == 0:
		return nil, fault.New(fault.NotFound, "nothing in the trash is called %.200q", name).WithHint("`ramet trash` lists its contents")
	case len(one) > 1:
		var names []string
		for _, e := range one {
			names = append(names, e.Name())
		}
		return nil, fault.New(fault.Ambiguous, "%.200q is in the trash more than once", name).WithHint("choose one by its id: %s", strings.Join(names, ", "))
	}
	return one, nil
}

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

// syncFolder makes the names in a folder durable, where the system and the file system can do that.
func syncFolder(dir *step.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, fs.ErrPermission) {
		err = nil
	}
	return errors.Join(err, f.Close())
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
