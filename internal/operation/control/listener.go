package control

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// Listener is the kernel's end of a Place: the socket, and the lock that keeps other kernels away. It
// accepts only connections of the same user.
//
// http.Server closes its listener before it waits for requests. Give it Acceptor(), so that the lock is
// held until the kernel has finished.
type Listener struct {
	ended    chan struct{} // closed by Close
	watching sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	place   Place
	lock    *flock.Flock
	socket  *net.UnixListener
	bound   os.FileInfo // the socket's file
	stopped bool        // accepts no more
	lost    error       // why it stopped by itself
	opening []string    // see Working
	lived   bool        // see Lived
}

// restoreEvery is the time between checks of the listener that its files are in place. Tests replace it.
var restoreEvery = time.Second

// Hold takes the lock, binds the socket (0600) and records that a kernel began. LOCKED: another kernel
// holds the lock or answers on the socket; the process exits with fault.Exit(err), without a message.
func (p Place) Hold() (*Listener, error) {
	l := &Listener{ended: make(chan struct{}), place: p}
	if err := l.restore(); err != nil {
		return nil, err
	}
	if err := l.place.keepProgram(); err != nil {
		l.stop()
		return nil, errors.Join(durable.Failure("keep the program in", l.place.home, err), l.lock.Close())
	}
	l.watching.Go(func() {
		tick := time.NewTicker(restoreEvery)
		defer tick.Stop()
		for {
			select {
			case <-l.ended:
				return
			case <-tick.C:
				l.restore() // what fails is tried again
			}
		}
	})
	return l, nil
}

// restore takes the lock and binds the socket unless their files are in place. Later it makes up for
// removed files: logind removes the runtime folder at logout, cleaners remove old temporary files.
func (l *Listener) restore() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return nil
	}
	err := l.restoreLock()
	if l.isBound() {
		return err
	}
	if err == nil {
		err = l.bind()
	}
	if fault.Is(err, fault.Locked) && l.socket != nil {
		l.lost = err
	}
	if l.lost != nil {
		l.stop()
	}
	if err != nil && l.socket == nil && l.lock != nil {
		l.lock.Close()
	}
	return err
}

func (l *Listener) restoreLock() error {
	if l.lock != nil && isInPlace(l.lock) {
		return nil
	}
	next := l.place
	if _, err := os.Stat(next.home); l.lock != nil && errors.Is(err, fs.ErrNotExist) {
		l.lost = fault.New(fault.NotFound, "the home %s was removed", next.home)
		return l.lost
	}
	if err := next.chooseFolder(); err != nil {
		return err
	}
	lock, err := next.takeLock()
	if err != nil {
		return err
	}
	if l.lock != nil {
		l.lock.Close()
	}
	l.lock, l.place = lock, next
	return nil
}

// takeLock creates the folder and locks its lock file exclusively.
func (p Place) takeLock() (*flock.Flock, error) {
	if err := p.folder.create(); err != nil {
		return nil, err
	}
	path := p.folder.lock()
	for {
		lock := flock.New(path, flock.SetPermissions(0o600))
		free, err := lock.TryLock()
		switch {
		case err != nil:
			return nil, durable.Failure("lock", path, err)
		case free && isInPlace(lock):
			step.Chmod(path, 0o600|fs.ModeSticky) // systemd-tmpfiles keeps sticky files; other systems may refuse the bit
			return lock, nil
		}
		lock.Close()
		if !free && isLocked(path) {
			return nil, p.refuseSecond()
		}
		time.Sleep(time.Millisecond) // a probe had it for a moment, or its file was replaced
	}
}

func (p Place) refuseSecond() error {
	return fault.New(fault.Locked, "a background kernel for %s is already running", p.home)
}

// isInPlace reports whether the locked file is the one that others would lock.
func isInPlace(lock *flock.Flock) bool {
	held, err1 := lock.Stat()
	now, err2 := os.Lstat(lock.Path())
	return err1 == nil && err2 == nil && os.SameFile(held, now)
}

// isBound reports whether the socket's file is the one that was bound.
func (l *Listener) isBound() bool {
	now, err := os.Lstat(l.place.Socket())
	return err == nil && l.bound != nil && os.SameFile(now, l.bound)
}

// bind replaces a stale socket, under the lock. A socket that answers all the same belongs to a kernel
// whose lock file was removed.
func (l *Listener) bind() error {
	path := l.place.Socket()
	conn, err := dialSocket(context.Background(), path)
	if err == nil {
		conn.Close()
	}
	if err == nil || errors.Is(err, syscall.EAGAIN) { // EAGAIN: its queue is full
		return l.place.refuseSecond()
	}
	if err := step.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("remove stale socket", path, err)
	}
	var socket *net.UnixListener
	err = reach(path, func(short string) (err error) {
		socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return durable.Failure("open socket", path, err)
	}
	socket.SetUnlinkOnClose(false) // stop removes it, if it is still ours
	err1 := step.Chmod(path, 0o600)
	bound, err2 := os.Lstat(path)
	if err := errors.Join(err1, err2); err != nil {
		socket.Close()
		return durable.Failure("open socket", path, err)
	}
	if l.socket == nil {
		l.place.recordBegin()
	} else {
		l.socket.Close()
	}
	l.socket, l.bound = socket, bound
	return nil
}

// stop ends accepting and removes the socket, unless it is another kernel's.
func (l *Listener) stop() {
	if l.stopped {
		return
	}
	l.stopped = true
	l.socket.Close()
	if l.isBound() {
		step.Remove(l.place.Socket())
	}
}

// Accept returns the next connection of the same user. After the files of this kernel were removed it
// fails with LOCKED if another kernel took over, and with NOT_FOUND if the home is gone too.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		socket, _ := l.current()
		conn, err := socket.AcceptUnix()
		now, lost := l.current()
		switch {
		case err == nil && isSameUser(conn):
			return conn, nil
		case err == nil:
			conn.Close()
		case lost != nil:
			return nil, lost
		case now == socket: // not bound again
			return nil, err
		}
	}
}

func (l *Listener) current() (*net.UnixListener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socket, l.lost
}

// Addr returns the address of the socket.
func (l *Listener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &net.UnixAddr{Name: l.place.Socket(), Net: "unix"}
}

// Close stops accepting, removes the socket and frees the lock. It is called once. Without Lived before
// it, the kernel counts as dead.
func (l *Listener) Close() error {
	close(l.ended)
	l.watching.Wait()
	l.Acceptor().Close()
	if path := kept.Swap(nil); path != nil {
		step.Remove(*path)
	}
	if l.place.folder.isTidy() { // while the lock is held; who waits for it looks whether its file is still there
		step.Remove(l.place.folder.lock())
		step.Remove(l.place.folder.path)
	}
	return l.lock.Close()
}

// isTidy reports whether a folder has nothing but the lock: the kernel ended in order, and none died before.
func (f socketFolder) isTidy() bool {
	entries, err := os.ReadDir(f.path)
	return err == nil && len(entries) == 1 && entries[0].Name() == filepath.Base(f.lock())
}

// Acceptor returns a listener whose Close stops accepting and removes the socket, and keeps the lock.
func (l *Listener) Acceptor() net.Listener { return acceptor{l} }

type acceptor struct{ *Listener }

func (a acceptor) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	return nil
}
