package files

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
)

// RestoreJournal keeps plans while they are carried out, in a folder of its own.
type RestoreJournal struct {
	Dir string
	// Get reads a content.
	Get func(context.Context, chain.Hash) ([]byte, error)
	// Trash gets what could not be brought back.
	Trash Trash
}

// RestoreDone reports the outcome of a plan.
type RestoreDone struct {
	RestorePlan
	Changed []string // paths that are as they were now, or gone
	Trashed []TrashEntry
}

// Finished says for people what was done by another than who began it.
func (d RestoreDone) Finished() string {
	out := fmt.Sprintf("a restore of files in %s that was interrupted is finished: %s changed, %s kept", d.Root,
		text.Count(len(d.Changed), "file"), text.Count(len(d.Kept), "file"))
	if n := len(d.Trashed); n > 0 {
		out += fmt.Sprintf(", %d in the trash", n)
	}
	return out
}

// RestoreAfter tells of what was done. When it fails, the plan stays in the journal, and is finished
// later: the files are as they shall be, but that is recorded nowhere.
type RestoreAfter func(RestoreDone) error

// Do carries out a plan, and tells after. One restore at a time for each journal; another is
// waited for until ctx ends.
func (j RestoreJournal) Do(ctx context.Context, p RestorePlan, after RestoreAfter) (RestoreDone, error) {
	if len(p.Steps) == 0 {
		out := RestoreDone{RestorePlan: p}
		return out, after(out)
	}
	if err := durable.MakeFolder(j.Dir, 0o700); err != nil {
		return RestoreDone{RestorePlan: p}, err
	}
	var out RestoreDone
	err := durable.While(ctx, filepath.Join(j.Dir, "restore"), func() error {
		if err := j.begin(&p); err != nil {
			out.RestorePlan = p
			return err
		}
		text, err := encodePlan(p)
		if err != nil {
			return err
		}
		name := filepath.Join(j.Dir, rand.Text()+".json")
		if err := durable.WriteFile(name, text, 0o600); err != nil {
			return err
		}
		out, err = j.carry(ctx, p, name, after)
		return err
	})
	return out, err
}

// Pending reports whether there is a plan that is not carried out.
func (j RestoreJournal) Pending() bool {
	names, err := filepath.Glob(filepath.Join(j.Dir, "*.json"))
	return err == nil && len(names) > 0
}

// Finish carries out what others left in the middle, tells after, and returns what it did.
// While another process restores, there is nothing to finish.
func (j RestoreJournal) Finish(ctx context.Context, after RestoreAfter) ([]RestoreDone, error) {
	names, err := filepath.Glob(filepath.Join(j.Dir, "*.json"))
	if err != nil || len(names) == 0 {
		return nil, err
	}
	held, err := durable.TryLock(filepath.Join(j.Dir, "restore.lock"))
	if fault.Is(err, fault.Locked) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer held.Unlock()
	var all []RestoreDone
	for _, name := range names {
		p, err := readPlan(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was finished meanwhile
		}
		if err != nil {
			return all, err
		}
		if _, err := os.Stat(p.Root); errors.Is(err, fs.ErrNotExist) { // nothing is left to restore
			step.Remove(name)
			continue
		}
		done, err := j.carry(ctx, p, name, after)
		if err != nil {
			return all, err
		}
		all = append(all, done)
	}
	return all, nil
}

// Underway returns the plans that are being carried out, or that a process that was killed left.
// What cannot be read is left out.
func (j RestoreJournal) Underway() []RestorePlan {
	names, _ := filepath.Glob(filepath.Join(j.Dir, "*.json"))
	var out []RestorePlan
	for _, name := range names {
		if p, err := readPlan(name); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// encodePlan returns a plan as the journal has it. Paths of steps are escaped: they need be no UTF-8.
func encodePlan(p RestorePlan) ([]byte, error) {
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		p.Steps[i].Path = url.PathEscape(p.Steps[i].Path)
	}
	return json.Marshal(p)
}

func readPlan(name string) (p RestorePlan, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return p, durable.Failure("read", name, err)
	}
	if err = json.Unmarshal(text, &p); err == nil {
		err = p.unescape()
	}
	if err != nil {
		return p, fault.New(fault.StorageCorrupt, "the journal of a restore, %s, cannot be read: %w", name, err).
			WithHint("some files may be restored and others not; look, then remove that file")
	}
	return p, nil
}

// unescape undoes what encodePlan did, and gives the nodes their names.
func (p RestorePlan) unescape() error {
	for i := range p.Steps {
		s := &p.Steps[i]
		at, err := url.PathUnescape(s.Path)
		if err == nil && !filepath.IsLocal(at) {
			err = errors.New("a path in it leads elsewhere")
		}
		if err != nil {
			return err
		}
		s.Path = at
		for _, n := range []*Node{s.Before, s.After} {
			if n != nil {
				n.Name = path.Base(at)
			}
		}
	}
	return nil
}

// carry does the steps, tells, and removes the journal. When ctx ends in the middle, the
// journal stays.
func (j RestoreJournal) carry(ctx context.Context, p RestorePlan, name string, after RestoreAfter) (RestoreDone, error) {
	out, err := j.steps(ctx, p, ".ramet-"+strings.TrimSuffix(filepath.Base(name), ".json"))
	if err != nil {
		return out, err
	}
	if err := after(out); err != nil {
		return out, err
	}
	if err := step.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, durable.Failure("remove", name, err)
	}
	return out, durable.SyncFolder(j.Dir)
}
