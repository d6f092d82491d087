package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// apply checks what the command changed in all folders, and then applies it. Nothing of the command may run any more.
func (o *overlay) apply() (moved []GuardMoved, err error) {
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(o.temp.dir), "apply.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		defer lock.Close()
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX) // what one command applies is another's change for the next
	}
	if err != nil {
		return nil, err
	}
	for _, p := range o.places {
		more, failed := o.applyPlace(p)
		moved, err = append(moved, more...), errors.Join(err, failed)
	}
	return moved, err
}

func (o *overlay) applyPlace(p overlayPlace) ([]GuardMoved, error) {
	down, err := os.OpenRoot(p.Folder)
	if err != nil {
		return nil, err
	}
	defer down.Close()
	up, err := os.OpenRoot(p.Upper)
	if err != nil {
		return nil, err
	}
	defer up.Close()
	fd, err := unix.Open(p.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if same, err := identityOf(fd); err != nil || same != p.same {
		return nil, fmt.Errorf("%s is another folder now, so nothing was written to it: %w", p.Folder, errors.Join(err, fs.ErrInvalid))
	}
	a := &applier{overlayPlace: p, since: o.since, up: up, down: down, q: quarantine{root: up, dir: p.Folder, into: o.into}, busy: map[string]bool{}}
	a.checkFolder(layer{path: ".", down: fd})
	a.dropBusy()
	slices.SortStableFunc(a.steps, func(x, y applyStep) int { return x.weight - y.weight })
	if o.Before != nil {
		if paths := a.touched(); len(paths) > 0 {
			o.Before(p.Folder, paths)
		}
	}
	var done []OverlayChange
	var untimed []bool // what is gone has no time of its own, and that of a folder is the one of the last change in it
	var errs []error
	for _, s := range a.steps {
		at, err := a.do(fd, s)
		switch {
		case errors.Is(err, errMeanwhile):
			a.late(s)
		case err != nil && s.act == putFile:
			a.refuse(s.path, fmt.Sprintf("it could not be written: %v", err))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", s.path, err))
		case s.repo == "":
			done = append(done, OverlayChange{Path: s.path, At: at, Removed: s.act == remove, Whole: s.act == putFile && isFolder(s.is)})
			untimed = append(untimed, s.act == remove || s.act == putMode && isFolder(s.is))
		}
	}
	if o.After != nil && len(done) > 0 {
		now := o.clock()
		for i := range done {
			if untimed[i] {
				done[i].At = now
			}
		}
		o.After(p.Folder, done)
	}
	return a.moved, errors.Join(errs...)
}

// touched returns the paths outside of repositories that the steps replace or remove.
func (a *applier) touched() (out []string) {
	for _, s := range a.steps {
		if s.repo == "" && s.was.Nlink > 0 && !isFolder(s.was) {
			out = append(out, s.path)
		}
	}
	return out
}

// dropBusy gives up what refers to objects in repositories that another program changed: a part of it would be neither state.
func (a *applier) dropBusy() {
	a.steps = slices.DeleteFunc(a.steps, func(s applyStep) bool {
		if _, busy := a.busy[s.repo]; s.repo == "" || s.weight == 0 || !busy && !exists(filepath.Join(a.Folder, s.repo, "index.lock")) {
			return false
		}
		a.occupy(s.repo, layer{repo: s.repo}.inRepo(s.path))
		if s.act == putFile {
			a.q.move(s.path, whyBusy)
		}
		return true
	})
	for _, repo := range slices.Sorted(maps.Keys(a.busy)) {
		if a.busy[repo] {
			a.keep(repo, whyBusy)
		}
	}
}

// late puts aside what was to be applied where another program has just changed something.
func (a *applier) late(s applyStep) {
	if s.act == putFile {
		a.stray(s.path, whyChanged, layer{})
	} else {
		a.keep(s.path, whyChanged)
	}
}

var errMeanwhile = errors.New("another program changed it just now")

// openBelow opens a folder below another one without following any link.
func openBelow(dir int, rel string) (int, error) {
	return unix.Openat2(dir, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}

// do carries out a step in the folder, and returns when what is there now changed last.
func (a *applier) do(folder int, s applyStep) (int64, error) {
	dir, err := openBelow(folder, path.Dir(s.path))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return 0, errMeanwhile
	}
	if err != nil {
		return 0, err
	}
	defer unix.Close(dir)
	name := path.Base(s.path)
	now, there := statIn(dir, name)
	if there != (s.was.Nlink > 0) || there && (now.Ino != s.was.Ino || now.Mode != s.was.Mode || !isFolder(now) && (now.Size != s.was.Size || now.Mtim != s.was.Mtim || now.Ctim != s.was.Ctim && now.Nlink == s.was.Nlink)) {
		return 0, errMeanwhile
	}
	err = a.change(dir, name, s, now, there)
	if errors.Is(err, unix.EACCES) { // the command opened a folder and closed it again
		var stat unix.Stat_t
		own := fmt.Sprintf("/proc/self/fd/%d", dir)
		if unix.Stat(own, &stat) == nil && unix.Chmod(own, stat.Mode&0o7777|0o300) == nil {
			err = a.change(dir, name, s, now, there)
			unix.Chmod(own, stat.Mode&0o7777)
		}
	}
	if err != nil {
		return 0, err
	}
	now, _ = statIn(dir, name)
	return now.Ctim.Nano(), nil
}

// change carries out a step in an open folder.
func (a *applier) change(dir int, name string, s applyStep, now unix.Stat_t, there bool) (err error) {
	switch s.act {
	case remove:
		flags := 0
		if isFolder(now) {
			flags = unix.AT_REMOVEDIR
		}
		if err = unix.Unlinkat(dir, name, flags); errors.Is(err, unix.ENOTEMPTY) {
			err = errMeanwhile
		}
	case putFolder:
		if err = unix.Mkdirat(dir, name, 0o700); err == nil {
			err = chmodIn(dir, name, s.is.Mode)
		}
	case putMode:
		err = chmodIn(dir, name, s.is.Mode)
	case putFile:
		err = a.put(dir, name, s, there)
	}
	return err
}

// chmodIn sets the mode of a file or folder, and of nothing that a link leads to.
func chmodIn(dir int, name string, mode uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode&0o7777)
}

// put moves something out of the upper layer to its place, in one step where the file system is the same.
func (a *applier) put(dir int, name string, s applyStep, there bool) error {
	from := a.upper(s.path)
	if s.repo != "" && isRegular(s.is) { // git has synced it, but the overlay is volatile
		if f, err := os.Open(from); err == nil {
			f.Sync()
			f.Close()
		}
	}
	closed := isFolder(s.is) && s.is.Mode&0o700 != 0o700
	if closed { // a folder that is moved is written to
		unix.Chmod(from, 0o700)
	}
	if there && isFolder(s.is) {
		if err := unix.Unlinkat(dir, name, 0); err != nil {
			return err
		}
	}
	flags := uint(unix.RENAME_NOREPLACE)
	if there && !isFolder(s.is) {
		flags = 0
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, dir, name, flags)
	if errors.Is(err, unix.EXDEV) {
		err = a.copyInto(s.path, dir, name)
	}
	if errors.Is(err, unix.EEXIST) {
		return errMeanwhile
	}
	if err == nil && closed {
		err = chmodIn(dir, name, s.is.Mode)
	}
	return err
}

// copyInto copies something from another file system. It gets its name in one step, when it is whole.
func (a *applier) copyInto(at string, dir int, name string) error {
	const temp = tempPrefix + "copy"
	to := fmt.Sprintf("/proc/self/fd/%d/%s", dir, temp)
	RemoveAll(to) // of a process that was killed
	info, err := a.up.Lstat(at)
	if err == nil {
		q := quarantine{root: a.up, exact: true}
		err = q.copyOne(at, to, info)
	}
	if err == nil {
		err = unix.Renameat(dir, temp, dir, name)
	}
	if err != nil {
		RemoveAll(to)
	}
	return err
}

// clock returns the time on the clock of the file system of the upper layer.
func (o *overlay) clock() int64 {
	file := filepath.Join(o.temp.dir, "clock")
	var stat unix.Stat_t
	if os.WriteFile(file, nil, 0o600) != nil || unix.Lstat(file, &stat) != nil {
		return time.Now().UnixNano()
	}
	return stat.Ctim.Nano()
}

// awaitTick waits until what changes from now on is later than a time, on a clock that counts in ticks.
func awaitTick(since int64) {
	var now unix.Timespec
	for range 100 {
		if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil || now.Nano() > since {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
