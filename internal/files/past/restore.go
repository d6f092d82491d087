package past

import (
	"context"
	"time"

	"ramet/internal/chain"
	"ramet/internal/files/restore"
	"ramet/internal/id"
)

const lockEvery = 5 * time.Millisecond

// State is a state to go back to.
type State struct {
	Root    chain.Hash
	Step    int64 // 0: nobody knows; then everything is foreign
	Partial bool
}

// Restore asks for files to be what they were.
type Restore struct {
	Agent id.Agent // for whom
	To    State
	Paths []string // and what is below; none: all
	Force bool     // also what others could have changed
}

// Plan takes the state of the folder, and says what a restore would do.
func (f *Folder) Plan(ctx context.Context, r Restore) (restore.Plan, Taken, error) {
	now, err := f.Take(ctx, nil)
	if err != nil {
		return restore.Plan{}, now, err
	}
	p, err := f.plan(r, now)
	return p, now, err
}

func (f *Folder) plan(r Restore, now Taken) (restore.Plan, error) {
	foreign, err := f.Foreign(r.Agent, r.To.Step)
	if err != nil {
		return restore.Plan{}, err
	}
	return restore.Make(f.past.store, restore.Wish{Root: f.root, From: now.Root, To: r.To.Root, Paths: r.Paths,
		Partial: r.To.Partial, Foreign: foreign, Force: r.Force, Has: f.past.store.Has})
}

// Carry carries out a plan, and takes the state that comes of it. What it changed counts as
// the agent's own.
func (f *Folder) Carry(ctx context.Context, a id.Agent, p restore.Plan) (restore.Done, Taken, error) {
	done, err := f.past.journal.Do(ctx, p)
	if err != nil {
		return done, Taken{}, err
	}
	own := map[string]id.Agent{}
	for _, s := range p.Steps {
		own[s.Path] = a
	}
	for _, k := range done.Kept {
		delete(own, k.Path)
	}
	after, err := f.take(context.WithoutCancel(ctx), nil, own)
	return done, after, err
}
