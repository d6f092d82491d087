package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardIdentity tells a file from another one that has its name later.
type guardIdentity struct {
	Dev, Ino uint64
	Changed  int64 // when, where that is known to matter; else 0
}

// thing is something with a guarded name.
type thing struct {
	path string // below the folder
	kind kind
	id   guardIdentity
}

// folder holds what was seen in a folder.
type folder struct {
	path   string        // below the root; "." is the root
	id     guardIdentity // with the time of its last change
	recent bool          // it changed so shortly before it was read that a later change may have the same time
	shut   bool          // it could not be read
	gone   bool
	sub    []*folder
	things []thing
}

// deepest limits the length of the path of a folder that is looked into. What lies deeper is taken
// as one thing: the kernel takes no path over 4,096 bytes, and a look that fails finds nothing.
const deepest = 3000

// grain is more than the clock of any file system leaves out.
const grain = 100 * time.Millisecond

// index remembers folders from one look to the next.
type index struct {
	root string

	mu  sync.Mutex
	top *folder // nil: not looked at yet
}

// look finds everything with a guarded name, and the folders that cannot be read.
func (x *index) look() (found []thing, shut map[string]guardIdentity, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	top, err := os.Open(x.root)
	if err != nil {
		return nil, nil, err
	}
	defer top.Close()
	if x.top == nil {
		x.top = &folder{path: "."}
	}
	if err := x.top.refreshAll(int(top.Fd())); err != nil {
		x.top = nil // half of it is new
		return nil, nil, err
	}
	shut = map[string]guardIdentity{}
	x.top.each(func(f *folder) {
		if f.shut {
			shut[f.path] = f.id
		}
		found = append(found, f.things...)
	})
	slices.SortFunc(found, func(a, b thing) int { return strings.Compare(a.path, b.path) })
	return found, shut, nil
}

// each visits a folder and those below it.
func (f *folder) each(do func(*folder)) {
	if f.gone {
		return
	}
	do(f)
	for _, sub := range f.sub {
		sub.each(do)
	}
}

// refreshAll looks at a folder and at those below it.
func (f *folder) refreshAll(root int) error {
	if err := f.refresh(root); err != nil || f.gone {
		return err
	}
	for _, sub := range f.sub {
		if err := sub.refreshAll(root); err != nil {
			return err
		}
	}
	return nil
}

// refresh looks at a folder, and reads it if it changed.
func (f *folder) refresh(root int) error {
	id, stat, err := identifyGuard(root, f.path)
	if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		f.gone = true
		return ignoreGoneGuard(err)
	}
	id.Changed = stat.Ctim.Nano()
	if f.id == id && !f.recent && !f.gone {
		return nil
	}
	old := make(map[string]*folder, len(f.sub))
	if f.id.Dev == id.Dev && f.id.Ino == id.Ino {
		for _, sub := range f.sub {
			old[sub.path] = sub
		}
	}
	*f = folder{path: f.path, id: id, recent: time.Since(time.Unix(0, id.Changed)) < grain}
	return f.read(root, old)
}

// read reads a folder. Of those in it, what is known is kept.
func (f *folder) read(root int, old map[string]*folder) error {
	fd, err := unix.Openat(root, f.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		f.shut = true
		return nil
	}
	if err != nil {
		f.gone = true
		return ignoreGoneGuard(err)
	}
	dir := os.NewFile(uintptr(fd), f.path)
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		f.gone = true
		return ignoreGoneGuard(err)
	}
	var bare map[string]string // parts of a repository to the names that they have here
	for _, e := range entries {
		name := e.Name()
		if part := strings.ToLower(name); slices.Contains(parts, part) {
			if bare == nil {
				bare = map[string]string{}
			}
			bare[part] = name
		}
		if k, ok := kindAt(f.path, name, e.IsDir()); ok {
			if t, err := statThing(fd, name, k); err == nil {
				t.path = path.Join(f.path, name)
				f.things = append(f.things, t)
			}
			continue
		}
		if e.IsDir() {
			at := path.Join(f.path, name)
			if len(at) > deepest {
				if t, err := statThing(fd, name, deep); err == nil {
					t.path = at
					f.things = append(f.things, t)
				}
				continue
			}
			sub := old[at]
			if sub == nil {
				sub = &folder{path: at}
			}
			f.sub = append(f.sub, sub)
		}
	}
	isRepository := takesForRepository(func(part string) bool { return bare[part] != "" })
	switch {
	case f.path == ".":
		f.things = append(f.things, partsOf(fd, bare, isRepository)...)
	case isRepository:
		f.things = append(f.things, thing{path: f.path, kind: repository, id: guardIdentity{Dev: f.id.Dev, Ino: f.id.Ino}})
	}
	return nil
}

// partsOf returns the parts of a repository in the top folder, which cannot be moved away as a whole.
func partsOf(dir int, bare map[string]string, isRepository bool) []thing {
	k := part
	if isRepository {
		k = top
	}
	var out []thing
	for i, p := range parts {
		if bare[p] == "" {
			continue
		}
		if t, err := statThing(dir, bare[p], k); err == nil {
			t.path, t.id.Changed = bare[p], -int64(i)-1 // one part does not come in the place of another
			out = append(out, t)
		}
	}
	return out
}

// statThing returns a thing in an open folder.
func statThing(dir int, name string, k kind) (thing, error) {
	id, stat, err := identifyGuard(dir, name)
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR && stat.Nlink > 1 {
		id.Changed = stat.Ctim.Nano() // another name of it may have been written to
	}
	return thing{kind: k, id: id}, err
}

func identifyGuard(dir int, at string) (guardIdentity, unix.Stat_t, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(dir, at, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return guardIdentity{Dev: stat.Dev, Ino: stat.Ino}, stat, err
}

func ignoreGoneGuard(err error) error {
	for _, e := range []error{fs.ErrNotExist, unix.ENOTDIR, unix.ELOOP, unix.ESTALE, unix.EACCES} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// quarantine receives the things of one folder.
type quarantine struct {
	root *os.Root // the folder
	dir  string   // its path
	into string
	// exact lets copies keep modes, owners and times; others are not executed by accident.
	exact bool

	made string // of this time; empty: not yet
}

// move takes something out of the folder.
func (q *quarantine) move(at, why string) GuardMoved {
	m := GuardMoved{Path: at, Why: why}
	to, err := q.place(at)
	if err == nil {
		err = q.rename(at, to)
	}
	if errors.Is(err, unix.EXDEV) {
		err = q.copy(at, to)
	}
	if err != nil {
		m.Why += fmt.Sprintf("; it could not be moved away: %v", err)
		return m
	}
	m.To = to
	return m
}

// place makes room for something. What is quarantined at one time lies in one folder,
// under the names that it had.
func (q *quarantine) place(at string) (string, error) {
	if q.made == "" {
		if err := os.MkdirAll(q.into, 0o700); err != nil {
			return "", err
		}
		made, err := os.MkdirTemp(q.into, time.Now().UTC().Format("20060102-150405-"))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(made, "from"), []byte(q.dir+"\n"), 0o600); err != nil {
			return "", err
		}
		q.made = made
	}
	to := filepath.Join(q.made, "files", at)
	return to, os.MkdirAll(filepath.Dir(to), 0o700)
}

// rename moves by handles, so that a folder which is swapped for a link meanwhile leads
// nowhere.
func (q *quarantine) rename(at, to string) error {
	from, err := q.root.Open(path.Dir(at))
	if err != nil {
		return err
	}
	defer from.Close()
	return unix.Renameat(int(from.Fd()), path.Base(at), unix.AT_FDCWD, to)
}

// copy copies to another file system: folders, links and plain files go over, and the rest
// is dropped.
func (q *quarantine) copy(at, to string) error {
	info, err := q.root.Lstat(at)
	if err != nil {
		return err
	}
	if err := q.copyOne(at, to, info); err != nil {
		return err
	}
	return q.root.RemoveAll(at)
}

func (q *quarantine) copyOne(at, to string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		if q.exact {
			q.root.Chmod(at, 0o700)
		}
		dir, err := q.root.Open(at)
		if err != nil {
			return err
		}
		entries, err := dir.ReadDir(-1)
		dir.Close()
		if err != nil {
			return err
		}
		for _, e := range entries {
			inner, err := q.root.Lstat(path.Join(at, e.Name()))
			if err != nil {
				return err
			}
			if err := q.copyOne(path.Join(at, e.Name()), filepath.Join(to, e.Name()), inner); err != nil {
				return err
			}
		}
		return q.imitate(to, info)
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := q.root.Readlink(at)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case info.Mode().IsRegular():
		return q.copyFile(at, to, info)
	}
	return nil
}

// imitate gives a copy the mode, owner and times of the original.
func (q *quarantine) imitate(to string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !q.exact || !ok {
		return nil
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(to, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	return errors.Join(os.Chmod(to, info.Mode()), os.Chtimes(to, time.Time{}, info.ModTime()))
}

func (q *quarantine) copyFile(at, to string, info fs.FileInfo) error {
	from, err := q.root.OpenFile(at, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	// Without the right to execute: so that it does not run by accident.
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close(), q.imitate(to, info))
}
