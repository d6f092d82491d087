package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
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
