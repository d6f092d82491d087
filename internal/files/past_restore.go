package files

import (
	"context"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
)

const lockEvery = 5 * time.Millisecond

// PastState is a state to go back to.
type PastState struct {
	Root    chain.Hash
	Step    int64 // 0: unknown; then everything is foreign
	Partial bool
}

// Restore asks for files to be what they were.
type Restore struct {
	Agent id.Agent // for whom
	To    PastState
	Paths []string // and what is below; none: all
	Force bool     // also what others could have changed
	// Commands restores also what changed while a command of the agent was running.
	Commands bool
}

// Plan takes the state of the folder, and says what a restore would do.
func (f *PastFolder) Plan(ctx context.Context, r Restore) (RestorePlan, Taken, error) {
	now, err := f.Take(ctx, nil)
	if err != nil {
		return RestorePlan{}, now, err
	}
	p, err := f.plan(ctx, r, now)
	return p, now, err
}

func (f *PastFolder) plan(ctx context.Context, r Restore, now Taken) (RestorePlan, error) {
	keep, err := f.Keep(r.Agent, r.To.Step, r.Commands)
	if err != nil {
		return RestorePlan{}, err
	}
	leftOut := f.scanner.LeftOut(f.past.store, r.To.Root, func(h chain.Hash) []byte {
		content, err := f.past.store.Get(ctx, h)
		if err != nil {
			return nil // then its rules are not known
		}
		return content
	})
	inTrash, err := f.past.trash.Contents()
	if err != nil {
		return RestorePlan{}, err
	}
	has := func(h chain.Hash) bool { return f.past.store.Has(h) || len(inTrash[h]) > 0 }
	p, err := MakePlan(f.past.store, RestoreWish{Root: f.root, From: now.Root, To: r.To.Root, Paths: r.Paths,
		Partial: r.To.Partial, Keep: keep, Force: r.Force, LeftOut: leftOut, Has: has})
	if err == nil {
		p.Agent = r.Agent
		err = f.past.markForTrash(ctx, &p)
		p.CountRoom(f.past.store.Has)
	}
	return p, err
}

// Carry carries out a plan, takes the state that comes of it, and tells it. What it changed
// counts as the own work of the plan's agent. A process that is killed before tell returned has not done it: see
// Recover.
func (f *PastFolder) Carry(ctx context.Context, p RestorePlan, tell func(RestoreDone, Taken) error) (RestoreDone, Taken, error) {
	var after Taken
	done, err := f.past.journal.Do(ctx, p, func(d RestoreDone) (err error) {
		if after, err = f.taken(context.WithoutCancel(ctx), d); err == nil {
			err = tell(d, after)
		}
		return err
	})
	return done, after, err
}

// taken takes the state after a restore.
func (f *PastFolder) taken(ctx context.Context, d RestoreDone) (Taken, error) {
	own := map[string]id.Agent{}
	for _, s := range d.Steps {
		own[s.Path] = d.Agent
	}
	for _, k := range d.Kept {
		delete(own, k.Path)
	}
	return f.take(ctx, nil, own)
}

// Pending reports whether a restore was begun that is not finished; perhaps another process is finishing it.
func (p *Past) Pending() bool { return p.journal.Pending() }

// Recover finishes what a process that was killed left half restored, and tells of it.
func (p *Past) Recover(ctx context.Context, tell func(*PastFolder, RestoreDone, Taken) error) ([]RestoreDone, error) {
	return p.journal.Finish(ctx, func(d RestoreDone) error {
		if len(d.Note) == 0 {
			return nil // the files of a child that was never born
		}
		f, err := p.Folder(d.Root)
		if err != nil {
			return nil // the folder no longer exists
		}
		after, err := f.taken(ctx, d)
		if err != nil {
			return err
		}
		return tell(f, d, after)
	})
}
