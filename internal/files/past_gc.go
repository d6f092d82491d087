package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

// Named is a state that a history names.
type Named struct {
	Root   chain.Hash
	At     time.Time
	Pinned bool // it stays, whatever its age
}

// PastLimits say which states stay.
type PastLimits struct {
	Since time.Time // those that are as new
	Most  int64     // bytes on the disk, of the newest; 0: any number
	// Young are contents that an entry may be about to name: they stay.
	Young time.Time
}

// Swept counts what was dropped, or would be.
type Swept struct {
	States  int   // that can be restored no more
	Kept    int   // that can
	Objects int   // contents and folders
	Bytes   int64 // on the disk
}

// GC drops states and what only they name; with plan it only says what would be dropped. The
// newest state of each folder stays.
func (p *Past) GC(ctx context.Context, named []Named, l PastLimits, plan bool) (Swept, error) {
	var out Swept
	if _, err := os.Stat(p.o.Dir); errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	release, err := p.alone(ctx)
	if err != nil {
		return out, err
	}
	defer release()
	if _, err := p.store.Refresh(); err != nil {
		return out, err
	}
	last, err := p.lastStates()
	if err != nil {
		return out, err
	}
	m := marking{p: p, seen: map[chain.Hash]bool{}}
	all := append(slices.Clone(named), last...)
	slices.SortStableFunc(all, func(a, b Named) int { // pinned ones first, then the newest
		switch {
		case a.Pinned != b.Pinned && a.Pinned:
			return -1
		case a.Pinned != b.Pinned:
			return 1
		}
		return b.At.Compare(a.At)
	})
	dropped := map[chain.Hash]bool{}
	for _, s := range all {
		if !p.store.Has(s.Root) {
			continue
		}
		if !s.Pinned && (s.At.Before(l.Since) || l.Most > 0 && m.bytes >= l.Most) {
			dropped[s.Root] = true
			continue
		}
		if err := m.mark(s.Root); err != nil {
			return out, err
		}
	}
	for root := range dropped {
		if !m.seen[root] {
			out.States++
		}
	}
	out.Kept = m.states
	keep := func(h chain.Hash) bool { return m.seen[h] }
	gone, err := p.store.Plan(keep, l.Young)
	if err == nil && !plan {
		gone, err = p.store.Drop(keep, l.Young)
		p.store.Sweep(l.Young)
	}
	out.Objects, out.Bytes = gone.Objects, gone.Bytes
	return out, err
}

// marking finds everything that states name.
type marking struct {
	p      *Past
	seen   map[chain.Hash]bool
	bytes  int64
	states int
}

func (m *marking) mark(root chain.Hash) error {
	if m.seen[root] {
		return nil
	}
	m.states++
	return m.folder(root)
}

func (m *marking) folder(h chain.Hash) error {
	if m.seen[h] {
		return nil
	}
	m.add(h)
	f, err := m.p.store.Folder(h)
	if fault.Is(err, fault.NotFound) {
		return nil // it is gone already
	}
	if err != nil {
		return err
	}
	for _, n := range f {
		switch {
		case !n.Known() || m.seen[n.Hash]:
		case n.Kind == Dir || n.Kind == Repo:
			if err := m.folder(n.Hash); err != nil {
				return err
			}
		default:
			m.add(n.Hash)
		}
	}
	return nil
}

func (m *marking) add(h chain.Hash) {
	m.seen[h] = true
	_, kept, _ := m.p.store.Size(h)
	m.bytes += kept
}

// lastStates returns the newest states of all folders.
func (p *Past) lastStates() ([]Named, error) {
	names, err := filepath.Glob(filepath.Join(p.o.Dir, "folders", "*"))
	if err != nil {
		return nil, err
	}
	var out []Named
	for _, dir := range names {
		_, last, err := (&PastFolder{past: p, dir: dir}).steps(1 << 62)
		if err != nil {
			return nil, err
		}
		if last.N > 0 {
			out = append(out, Named{Root: last.Root, At: time.Unix(0, last.At), Pinned: true})
		}
	}
	return out, nil
}

// Forget drops the contents of files, wherever states name them, and deletes them from the trash:
// they can be restored no more. It returns how many there were.
func (p *Past) Forget(ctx context.Context, contents map[chain.Hash]bool) (int, error) {
	if len(contents) == 0 {
		return 0, nil
	}
	release, err := p.alone(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	if err := p.store.Pull(ctx); err != nil {
		return 0, err
	}
	inTrash, err := p.trash.Forget(contents)
	if err != nil {
		return inTrash, err
	}
	gone, err := p.store.Drop(func(h chain.Hash) bool { return !contents[h] }, time.Now().Add(time.Hour))
	return gone.Objects + inTrash, err
}
