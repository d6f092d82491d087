package runner

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"ramet/internal/base/durable"
	"ramet/internal/files/git"
)

// clones are repositories made of bundles, by the hash of the bundle: the items of a run share one. Of those that are
// unused the last one stays.
type clones struct {
	dir string

	mu    sync.Mutex     // held while git changes a repository: it cannot do two changes at a time
	users map[string]int // of those that are there
}

// clone is one repository.
type clone struct {
	*clones
	sum, path string
}

// take finds the repository of a bundle, or makes it of what content gives. It is to be
// given back.
func (cs *clones) take(ctx context.Context, sum, commit string, content func() ([]byte, error)) (*clone, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c := &clone{cs, sum, filepath.Join(cs.dir, sum+".git")}
	if _, there := cs.users[sum]; !there {
		if err := c.fill(ctx, commit, content); err != nil {
			removeFolder(c.path)
			return nil, err
		}
	}
	if cs.users == nil {
		cs.users = map[string]int{}
	}
	cs.users[sum]++
	return c, nil
}

// give gives a repository back.
func (c *clone) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users[c.sum]--
	for sum, users := range c.users {
		if users == 0 && sum != c.sum {
			delete(c.users, sum)
			removeFolder(filepath.Join(c.dir, sum+".git")) // if not: it goes with the host's folder
		}
	}
}

// worktree runs git worktree in the repository.
func (c *clone) worktree(ctx context.Context, args ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := git.Run(ctx, c.path, append([]string{"worktree"}, args...)...)
	return err
}

func (c *clone) fill(ctx context.Context, commit string, content func() ([]byte, error)) error {
	data, err := content()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return durable.Failure("make folder", c.dir, err)
	}
	bundle := c.path + ".bundle"
	if err := os.WriteFile(bundle, data, 0o600); err != nil {
		return durable.Failure("write bundle", bundle, err)
	}
	defer os.Remove(bundle)
	return git.Unpack(ctx, bundle, commit, c.path)
}
