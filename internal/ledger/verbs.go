package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"ramet/internal/base/fault"
)

// Spawn registers a sub-agent.
func (f *Folder) Spawn(ctx context.Context, st Start) (e Entry, err error) {
	if err := st.Check(); err != nil {
		return e, err // before a folder is made for it
	}
	if err := f.make(); err != nil {
		return e, err
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		e, err = s.Spawn(st, f.now())
		return e.ID, err
	})
	return e, err
}

// Finish records how a sub-agent ended.
func (f *Folder) Finish(ctx context.Context, id string, how Status, reason string) (Entry, error) {
	if !how.Finished() {
		return Entry{}, fault.New(fault.Usage, "%s is not an end", how).WithHint("use completed, failed or timeout")
	}
	return f.Move(ctx, id, how, reason)
}

// Interrupt records that a sub-agent stopped in the middle.
func (f *Folder) Interrupt(ctx context.Context, id, reason string) (Entry, error) {
	return f.Move(ctx, id, Interrupted, reason)
}

// Move takes a sub-agent to another status, with extra fields for its entry.
func (f *Folder) Move(ctx context.Context, id string, to Status, reason string, extra ...Member) (e Entry, err error) {
	if err := f.checkFolder(id); err != nil {
		return e, err
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		e, err = s.Move(id, to, reason, f.now(), extra...)
		return "", err
	})
	return e, err
}

// checkFolder refuses an id if there is no state folder, before one is made for it.
func (f *Folder) checkFolder(id string) error {
	if _, err := os.Stat(f.dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := New().Get(id)
	return err
}

// Resume registers a sub-agent that continues another.
func (f *Folder) Resume(ctx context.Context, old string, st Start) (e Entry, err error) {
	if err := f.checkFolder(old); err != nil {
		return e, err
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		e, err = s.Resume(old, st, f.now(), f.Judge())
		return e.ID, err
	})
	return e, err
}

// Sweep marks the entries that are gone, and returns them.
func (f *Folder) Sweep(ctx context.Context) (out []Entry, err error) {
	v, err := f.Read(ctx)
	if err != nil {
		return nil, err
	}
	judge := f.Judge()
	if !slices.ContainsFunc(v.Entries(), func(e Entry) bool {
		_, gone := judge(e)
		return e.Status == Spawned && gone
	}) {
		return nil, nil // without a lock
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		out = s.Sweep(judge, f.now())
		return "", nil
	})
	return out, err
}
