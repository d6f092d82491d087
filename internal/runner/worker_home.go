package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/kernel"
)

// prefix begins the names of the folders of hosts in Options.Dir. The rest is random: another
// account that can write there, as in /tmp, must not be able to make the folder first.
const prefix = "ramet-items-"

// Start makes the folder of this host, removes what dead hosts left, and takes the kernel
// that items are done with.
func (c *WorkerPool) Start(ctx context.Context, k *kernel.Kernel) error {
	if err := durable.MakeFolder(c.Dir, 0o700); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(c.Dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return fault.New(fault.StorageIO, "open the folder of work items: %w", err)
	}
	if err := removeDeadHosts(dir); err != nil {
		return err
	}
	for c.home == "" {
		if err := ctx.Err(); err != nil {
			return fault.New(fault.Cancelled, "make the folder of work items: %w", err)
		}
		if err := c.makeHome(dir); err != nil {
			return err
		}
	}
	c.kernel = k
	c.clones.dir = filepath.Join(c.home, "clones")
	return nil
}

// makeHome makes and locks the folder of this host. It leaves c.home empty if another host swept
// the folder away before the lock was held.
func (c *WorkerPool) makeHome(dir string) error {
	home, err := os.MkdirTemp(dir, prefix)
	if err != nil {
		return durable.Failure("make folder", dir, err)
	}
	lock, err := durable.TryLock(filepath.Join(home, "lock"))
	if _, gone := os.Lstat(home); errors.Is(gone, fs.ErrNotExist) || fault.Is(err, fault.Locked) {
		return nil
	}
	if err != nil {
		return err
	}
	c.home, c.lock = home, lock
	return nil
}

// Stop removes the folder. No item may be under way.
func (c *WorkerPool) Stop() error {
	c.ends.Wait()
	err := removeFolder(c.home)
	if unlock := c.lock.Unlock(); err == nil && !errors.Is(unlock, fs.ErrNotExist) {
		err = unlock
	}
	return err
}

// removeDeadHosts removes the folders of hosts that are dead: their locks are free. What another account
// made under such a name stays.
func removeDeadHosts(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return durable.Failure("read folder", dir, err)
	}
	for _, e := range entries {
		home := filepath.Join(dir, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || durable.CheckPrivate(home) != nil {
			continue
		}
		held, err := durable.TryLock(filepath.Join(home, "lock"))
		if fault.Is(err, fault.Locked) {
			continue
		}
		if err == nil {
			defer held.Unlock()
		}
		if err := removeFolder(home); err != nil {
			return err
		}
	}
	return nil
}

// removeFolder removes a folder, also where the right to do so was taken away.
func removeFolder(dir string) error {
	if dir == "" || os.RemoveAll(dir) == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return durable.Failure("remove folder", dir, os.RemoveAll(dir))
}
