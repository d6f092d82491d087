package files

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/id"
	"ramet/internal/files/git"
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

// markForTrash marks what a plan takes away and what could not be brought back: contents that
// the store cannot read, and that git does not have any more.
func (p *Past) markForTrash(ctx context.Context, plan *RestorePlan) error {
	inGit, stored := map[string][]string{}, map[chain.Hash]bool{} // repository: its ids
	oids := map[chain.Hash]string{}
	for _, s := range plan.Steps {
		if !s.TakesAway() || stored[s.Before.Hash] {
			continue
		}
		h := s.Before.Hash
		if repo, oid, ok := p.store.InGit(h); ok {
			inGit[repo] = append(inGit[repo], oid)
			oids[h] = oid
			continue
		}
		_, err := p.store.Get(ctx, h)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		stored[h] = err == nil
	}
	there := map[string]bool{}
	for repo, ids := range inGit {
		for _, oid := range p.existing(ctx, repo, ids) {
			there[oid] = true
		}
	}
	plan.markForTrash(func(s RestoreStep) bool { return !stored[s.Before.Hash] && !there[oids[s.Before.Hash]] })
	return nil
}

// existing returns those ids that a repository has. If git does not answer, it has none.
func (p *Past) existing(ctx context.Context, repo string, ids []string) []string {
	var out bytes.Buffer
	c := git.Command{Dir: p.repository(repo), In: []byte(strings.Join(ids, "\n") + "\n"), Out: &out}
	if _, err := c.Run(ctx, "cat-file", "--batch-check=%(objectname) %(objecttype)"); err != nil {
		return nil
	}
	var there []string
	for line := range strings.Lines(out.String()) {
		if oid, ok := strings.CutSuffix(strings.TrimSpace(line), " blob"); ok {
			there = append(there, oid)
		}
	}
	return there
}

// Committed is a file as a commit has it.
type Committed struct {
	Oid  string
	Exec bool
	Link bool
}

// Bring makes a fresh checkout of a commit what a state holds. Only what differs from the
// commit is touched; have is what the commit holds. What the folder that the state is of still
// has is cloned from there, where the file system can, and copied from there, where it was not
// kept. It returns the files that differ.
func (p *Past) Bring(ctx context.Context, from, to string, s PastState, have map[string]Committed) (RestoreDone, error) {
	oids, err := p.store.Oids()
	if err != nil {
		return RestoreDone{}, err
	}
	wants, left, err := p.differing(from, s, have, func(n Node, c Committed) bool {
		return oids[n.Hash] == c.Oid && c.Oid != "" && c.Link == (n.Kind == Link) && (c.Link || c.Exec == (n.Mode&0o100 != 0))
	})
	if err != nil {
		return RestoreDone{}, err
	}
	plan, err := LayFiles(realPast(to), wants)
	if err != nil {
		return RestoreDone{}, err
	}
	plan.Kept, plan.Beside = left, from
	return p.journal.Do(ctx, plan, func(RestoreDone) error { return nil })
}

// differing returns what a checkout has to get or lose, and what cannot be had.
func (p *Past) differing(from string, s PastState, have map[string]Committed, same func(Node, Committed) bool) (wants []RestoreWant, left []RestoreLeft, err error) {
	there, folders := map[string]bool{}, map[string]bool{}
	var closed []string // what is below these is unknown: it stays as committed
	for name := range have {
		for dir := path.Dir(name); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	err = List(p.store, s.Root, func(at string, n Node) error {
		there[at] = true
		if n.Closed() {
			closed = append(closed, at)
		}
		c, tracked := have[at]
		switch {
		case n.Kind == Repo || n.Kind == Other:
		case n.Closed():
			left = append(left, RestoreLeft{Path: at, Why: Unknown})
		case n.Kind == Dir:
			if !folders[at] {
				wants = append(wants, RestoreWant{Path: at, Node: &n})
			}
		case !n.Known():
			left = append(left, RestoreLeft{Path: at, Why: Unknown})
		case tracked && same(n, c):
		case !p.store.Has(n.Hash) && !mayBe(from, at, n):
			left = append(left, RestoreLeft{Path: at, Why: Unkept})
		default:
			wants = append(wants, RestoreWant{Path: at, Node: &n})
		}
		return nil
	})
	if err != nil || s.Partial {
		return wants, left, err
	}
	for name := range have {
		if !there[name] && (len(closed) == 0 || !Within(name, closed)) {
			wants = append(wants, RestoreWant{Path: name})
		}
	}
	return wants, left, nil
}

// mayBe reports whether a folder has a file that may still be what a state says.
func mayBe(folder, at string, n Node) bool {
	if folder == "" || n.Kind != File {
		return false
	}
	info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(at)))
	return err == nil && info.Mode().IsRegular() && info.Size() == n.Size
}
