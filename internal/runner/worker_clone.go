package runner

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"ramet/internal/base/durable"
	"ramet/internal/files/git"
	"ramet/internal/model/llm"
)

// maxClones limits the unused repositories that are kept.
const maxClones = 4

// clones are repositories made of bundles, by the hash of the bundle: the items of a run
// share one.
type clones struct {
	dir string

	mu   sync.Mutex
	list []*clone // least recently used first
}

// clone is one repository.
type clone struct {
	sum, path string
	users     int           // guarded by the mutex of clones
	turn      chan struct{} // held while a worktree is made or removed: git cannot do two at a time
	ready     chan struct{} // closed when err is set
	err       error
}

// take finds the repository of a bundle, or makes it of what content gives. It is to be
// given back.
func (cs *clones) take(ctx context.Context, sum, commit string, content func() ([]byte, error)) (*clone, error) {
	cs.mu.Lock()
	i := slices.IndexFunc(cs.list, func(c *clone) bool { return c.sum == sum })
	var c *clone
	if i >= 0 {
		c = cs.list[i]
		cs.list = append(slices.Delete(cs.list, i, i+1), c)
	} else {
		c = &clone{sum: sum, path: filepath.Join(cs.dir, sum+".git"), turn: make(chan struct{}, 1), ready: make(chan struct{})}
		cs.list = append(cs.list, c)
	}
	c.users++
	cs.mu.Unlock()
	if i < 0 {
		c.err = cs.fill(ctx, c, commit, content)
		close(c.ready)
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		cs.give(c)
		return nil, llm.Ended(ctx)
	}
	if c.err != nil {
		cs.give(c)
		return nil, c.err
	}
	return c, nil
}

// give gives a repository back. One that could not be made is forgotten; of those that
// are unused a few stay.
func (cs *clones) give(c *clone) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.users--
	idle := 0
	for i := len(cs.list) - 1; i >= 0; i-- {
		one := cs.list[i]
		if one.users > 0 {
			continue
		}
		if idle++; idle > maxClones || one.err != nil {
			cs.list = slices.Delete(cs.list, i, i+1)
			removeFolder(one.path) // if not: it goes with the host's folder
		}
	}
}

// worktree runs git worktree in the repository, one at a time.
func (c *clone) worktree(ctx context.Context, args ...string) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return llm.Ended(ctx)
	}
	_, err := git.Run(ctx, c.path, append([]string{"worktree"}, args...)...)
	return err
}

func (cs *clones) fill(ctx context.Context, c *clone, commit string, content func() ([]byte, error)) error {
	data, err := content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cs.dir, 0o700); err != nil {
		return durable.Failure("make folder", cs.dir, err)
	}
	bundle := c.path + ".bundle"
	if err := os.WriteFile(bundle, data, 0o600); err != nil {
		return durable.Failure("write bundle", bundle, err)
	}
	defer os.Remove(bundle)
	return git.Unpack(ctx, bundle, commit, c.path)
}
