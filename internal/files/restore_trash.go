package files

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"syscall"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// MarkForTrash numbers the steps that take away a content for which stored returns false: it
// goes to the trash.
func (p *RestorePlan) MarkForTrash(stored func(chain.Hash) bool) {
	p.markForTrash(func(s RestoreStep) bool { return !stored(s.Before.Hash) })
}

func (p *RestorePlan) markForTrash(that func(RestoreStep) bool) {
	n := len(p.Trashes())
	for i, s := range p.Steps {
		if s.Trash == 0 && s.TakesAway() && that(s) {
			n++
			p.Steps[i].Trash = n
		}
	}
}

// TakesAway reports whether a step removes or replaces the content of a file or link.
func (s RestoreStep) TakesAway() bool {
	switch {
	case s.Before == nil || s.Before.Kind != File && s.Before.Kind != Link:
		return false
	case s.After == nil:
		return true
	}
	return s.Before.Kind != s.After.Kind || s.Before.Hash != s.After.Hash
}

// Trashes lists the paths whose content would go to the trash.
func (p RestorePlan) Trashes() []string {
	return p.paths(func(s RestoreStep) bool { return s.Trash > 0 })
}

// blockSize approximates what a file system takes for a small file.
const blockSize = 4 << 10

// CountRoom counts the bytes that a plan writes: files that are stored. What it removes for good
// makes room first.
func (p *RestorePlan) CountRoom(stored func(chain.Hash) bool) {
	for _, s := range p.Steps {
		if a := s.After; a != nil && a.Kind == File && (s.Before == nil || s.Before.Hash != a.Hash) && stored(a.Hash) {
			p.Room += (a.Size + blockSize - 1) / blockSize * blockSize
		}
		if s.After == nil && s.Before.Kind == File && s.Trash == 0 {
			p.Room -= s.Before.Size / blockSize * blockSize
		}
	}
}

// begin records in the trash what a plan moves there: what cannot be brought back, and files
// that another process has open for writing, because it could go on to write into a file
// without a name. It refuses before anything is touched.
func (j RestoreJournal) begin(p *RestorePlan) error {
	if free, known := durable.FreeSpace(p.Root); known && p.Room > free {
		return fault.New(fault.StorageFull, "the files take %d bytes more, and %s has room for %d", p.Room, p.Root, free).
			WithHint("nothing was touched; free some space and repeat")
	}
	p.markForTrash(func(s RestoreStep) bool {
		return s.Before.Kind == File && openForWriting(filepath.Join(p.Root, filepath.FromSlash(s.Path)))
	})
	if len(p.Trashes()) == 0 {
		return nil
	}
	act, err := j.recordTrash(*p)
	p.Trash = act.ID
	return err
}

// recordTrash records in the trash what the steps of a plan move there.
func (j RestoreJournal) recordTrash(p RestorePlan) (TrashAct, error) {
	act := TrashAct{Agent: p.Agent, Root: p.Root, Items: make([]TrashItem, len(p.Trashes()))}
	for _, s := range p.Steps {
		if s.Trash > 0 {
			act.Items[s.Trash-1] = TrashItem{Path: s.Path, Kind: s.Before.Kind, Size: s.Before.Size, Hash: s.Before.Hash}
		}
	}
	return j.Trash.Begin(cmp.Or(p.Verb, "restore"), act)
}

// discard takes away what a step found: to the trash if it could not be brought back.
func (w *work) discard(dir *step.Root, s RestoreStep) error {
	if s.Trash == 0 {
		return dir.Remove(path.Base(s.Path))
	}
	return w.act.Move(dir, path.Base(s.Path), s.Trash)
}

// replace puts something in the place of what a step found, with a rename by put. If that fails
// after the old file went to the trash, the old file comes back.
func (w *work) replace(dir *step.Root, s RestoreStep, now *Node, put func() error) error {
	if now == nil || s.Trash == 0 {
		return put()
	}
	if err := w.discard(dir, s); err != nil {
		return err
	}
	err := put()
	if err != nil {
		moved := []TrashEntry{w.act.Entry(s.Trash)}
		w.Trash.Take(moved, w.original(s), dir, path.Base(s.Path), s.Before.Perm())
	}
	return err
}

// errNone reports that nothing in the trash is the file that a step wants.
var errNone = errors.New(Unkept)

// takeBack puts a file from the trash in its place, in one step.
func (w *work) takeBack(dir *step.Root, s RestoreStep, now *Node) (string, error) {
	if s.After.Kind != File {
		return Unkept, nil
	}
	if w.contents == nil {
		var err error
		if w.contents, err = w.Trash.Contents(); err != nil {
			return "", err
		}
	}
	candidates := w.contents[s.After.Hash]
	if len(candidates) == 0 {
		return Unkept, nil
	}
	err := w.replace(dir, s, now, func() error {
		taken, err := w.Trash.Take(candidates, w.original(s), dir, path.Base(s.Path), s.After.Perm())
		if err == nil && !taken || errors.Is(err, syscall.EXDEV) {
			return errNone
		}
		return err
	})
	if errors.Is(err, errNone) {
		return Unkept, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Moved, nil
	}
	return explain(err)
}

// original returns the path of a step as the trash records it.
func (w *work) original(s RestoreStep) string {
	return filepath.Join(w.root.Name(), filepath.FromSlash(s.Path))
}
