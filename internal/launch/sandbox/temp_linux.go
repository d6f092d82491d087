package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ramet/internal/base/fault"
)

// A confined command's temporary folder. Another process holds a lock in it for as long as
// the command may live, so that what a killed ramet left can be told from what is in
// use:
//
//	ramet-box-<number>/lock   held by the ramet that started the command
//	ramet-box-<number>/tmp    /tmp, unless Box.Temp is
//	ramet-box-<number>/shm    /dev/shm
//
// The folder of an overlay (see overlay) is another one, in Overlay.Dir:
//
//	ramet-box-<number>/lock
//	ramet-box-<number>/upperN   what the command changed in the Nth folder
//	ramet-box-<number>/workN    the kernel's
type tempFolder struct {
	dir  string
	lock *os.File
}

const (
	tempPrefix = "ramet-box-"
	lockName   = "lock"
)

// newTemp makes one in a folder, the system's temporary one if that is empty, with these folders in it.
func newTemp(parent string, parts ...string) (*tempFolder, error) {
	for {
		t, taken, err := tryTemp(parent, parts)
		if err != nil {
			return nil, fault.New(fault.StorageIO, "confine command: make a temporary folder: %w", err)
		}
		if !taken {
			return t, nil
		}
	}
}

// tryTemp makes one, unless another process that cleans up takes it for abandoned before its
// lock is held.
func tryTemp(parent string, parts []string) (t *tempFolder, taken bool, err error) {
	dir, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return nil, false, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, errors.Is(err, fs.ErrNotExist), ignoreGone(err)
	}
	t = &tempFolder{dir: dir}
	if t.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, errors.Is(err, fs.ErrNotExist), ignoreGone(err)
	}
	if err = unix.Flock(int(t.lock.Fd()), unix.LOCK_EX); err == nil {
		_, err = os.Lstat(t.lock.Name())
	}
	for _, part := range parts {
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, part), 0o700)
		}
	}
	if err != nil {
		t.remove()
		return nil, errors.Is(err, fs.ErrNotExist), ignoreGone(err)
	}
	return t, false, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// remove removes the folder, and gives up its lock after that.
func (t *tempFolder) remove() {
	RemoveAll(t.dir)
	t.lock.Close()
}

// unlockedAge is the least age at which a folder without a lock is removed: earlier
// versions made such folders, and one may still be running.
const unlockedAge = 24 * time.Hour

// removeAbandoned removes what ramets left that were killed together with their
// helpers: folders of this user whose lock no process holds. Links are not followed, and
// whatever cannot be judged stays.
func removeAbandoned(parent string) {
	root, err := os.OpenRoot(parent)
	if err != nil {
		return
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) {
			removeIfAbandoned(root, name)
		}
	}
}

func removeIfAbandoned(parent *os.Root, name string) {
	info, err := parent.Lstat(name)
	if err != nil || !info.IsDir() || !isOurs(info) {
		return
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return
	}
	defer dir.Close()
	if now, err := dir.Stat("."); err != nil || !os.SameFile(info, now) {
		return // it was swapped for a link to elsewhere
	}
	lock, err := dir.OpenFile(lockName, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case err == nil:
		defer lock.Close()
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return
		}
	case !errors.Is(err, fs.ErrNotExist) || time.Since(info.ModTime()) < unlockedAge:
		return
	}
	openAll(dir)
	parent.RemoveAll(name)
}

// isOurs reports whether a file belongs to this user.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
