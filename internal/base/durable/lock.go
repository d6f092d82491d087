package durable

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"ramet/internal/base/fault"
)

// retryEvery sets how often a waiting Lock asks again. The kernel can wait for
// us, but such a wait cannot be cancelled.
const retryEvery = 10 * time.Millisecond

// Held is a lock that is held. It is exclusive between processes and between
// holders within one process. The lock file stays when the lock is released:
// removing it would let two processes lock two files of one name.
type Held struct {
	path    string
	file    *flock.Flock
	release sync.Once
}

// TryLock takes the lock at path or says at once who holds it: fault.Locked. A holder
// that is dead may take a moment to let go.
// The lock file is made with mode 0600; its folder must exist.
func TryLock(path string) (*Held, error) {
	file := lockFile(path)
	ok, err := file.TryLock()
	if err == nil && !ok && isOrphaned(path) {
		ok, err = waitForDeadHolder(file)
	}
	if err != nil {
		return nil, Failure("lock", path, err)
	}
	if !ok {
		return nil, refuseHeldLock(path, nil)
	}
	return signLockFile(path, file)
}

// lockFile does not follow a link: a lock would be made, and written, where that leads.
func lockFile(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow))
}

// lastBreath sets how long a child of a killed holder may take until it runs a program of
// its own: up to then it has what its parent had open, the lock too.
const lastBreath = time.Second

// waitForDeadHolder waits for a lock whose holder is dead.
func waitForDeadHolder(file *flock.Flock) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lastBreath)
	defer cancel()
	ok, err := file.TryLockContext(ctx, retryEvery)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return ok, err
}

// Lock waits for the lock at path until ctx ends. A deadline that passes is
// fault.Locked and names the holder; a cancelled ctx is fault.Cancelled. A lock
// that is free is taken even when ctx has ended.
func Lock(ctx context.Context, path string) (*Held, error) {
	held, err := TryLock(path)
	if err == nil || !fault.Is(err, fault.Locked) {
		return held, err
	}
	file := lockFile(path)
	ok, err := file.TryLockContext(ctx, retryEvery)
	switch {
	case ok:
		return signLockFile(path, file)
	case errors.Is(err, context.Canceled):
		return nil, fault.New(fault.Cancelled, "wait for lock %s: %w", path, err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, refuseHeldLock(path, err)
	default:
		return nil, Failure("lock", path, err)
	}
}

// Unlock releases the lock; a second Unlock does nothing.
func (h *Held) Unlock() (err error) {
	h.release.Do(func() {
		// The owner's line goes first: later it would be the next holder's.
		err = clearOwner(h.path)
		if unlockErr := h.file.Unlock(); unlockErr != nil {
			err = Failure("unlock", h.path, unlockErr)
		}
	})
	return err
}

// signLockFile signs the lock file. A lock that cannot be signed is given back, so
// that a full disk is met here and not at the first write under the lock.
func signLockFile(path string, file *flock.Flock) (*Held, error) {
	if err := writeOwner(path); err != nil {
		file.Unlock()
		return nil, err
	}
	return &Held{path: path, file: file}, nil
}

// refuseHeldLock returns the fault that names the holder of the lock.
func refuseHeldLock(path string, cause error) error {
	holder := "another process"
	if o, ok := ownerOf(path); ok {
		holder = o.String()
	}
	f := fault.New(fault.Locked, "lock %s: held by %s", path, holder).
		WithHint("wait until it ends, or end it")
	f.Err = cause
	return f
}

// While holds the lock of a file (path + ".lock") during do, so that reading,
// changing and writing the file are one step for everybody who does the same.
func While(ctx context.Context, path string, do func() error) error {
	held, err := Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	return errors.Join(do(), held.Unlock())
}
