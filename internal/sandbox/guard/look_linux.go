package guard

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// identity tells a file from another one that has its name later.
type identity struct {
	dev, ino uint64
	changed  int64 // when, where that is known to matter; else 0
}

// thing is something with a guarded name.
type thing struct {
	path string // below the folder
	kind kind
	id   identity
}

// folder is what was seen in one.
type folder struct {
	id     identity // with the time of its last change
	recent bool     // it changed so shortly before it was read that a later change may have the same time
	shut   bool     // it could not be read
	sub    []string // names of folders in it
	things []thing
}

// grain is more than the clock of any file system leaves out.
const grain = 100 * time.Millisecond

// index remembers folders from one look to the next.
type index struct {
	root string

	mu      sync.Mutex
	folders map[string]*folder // by path below the root; "." is the root
}

// look finds everything with a guarded name, and the folders that cannot be read.
func (x *index) look() (found []thing, shut map[string]identity, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	top, err := os.Open(x.root)
	if err != nil {
		return nil, nil, err
	}
	defer top.Close()
	s := &search{fd: int(top.Fd()), old: x.folders, now: make(map[string]*folder, len(x.folders)+64)}
	s.todo.L = &s.mu
	s.queue = []string{"."}
	s.all()
	if s.err != nil {
		return nil, nil, s.err
	}
	x.folders = s.now
	shut = map[string]identity{}
	for at, f := range s.now {
		if f.shut {
			shut[at] = f.id
		}
		found = append(found, f.things...)
	}
	slices.SortFunc(found, func(a, b thing) int { return strings.Compare(a.path, b.path) })
	return found, shut, nil
}

// search is one look. Several goroutines take folders from the queue.
type search struct {
	fd  int
	old map[string]*folder

	mu    sync.Mutex
	todo  sync.Cond
	queue []string
	busy  int
	now   map[string]*folder
	err   error
}

func (s *search) all() {
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		wg.Go(s.work)
	}
	wg.Wait()
}

func (s *search) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.queue) == 0 && s.busy > 0 && s.err == nil {
			s.todo.Wait()
		}
		if len(s.queue) == 0 || s.err != nil {
			return
		}
		// Many at once: taking turns costs more than a look at a folder.
		n := min(len(s.queue), 64)
		batch := append([]string(nil), s.queue[len(s.queue)-n:]...)
		s.queue = s.queue[:len(s.queue)-n]
		s.busy++
		s.mu.Unlock()
		seen := make([]*folder, len(batch))
		var failed error
		for i, at := range batch {
			if seen[i], failed = s.folder(at); failed != nil {
				break
			}
		}
		s.mu.Lock()
		s.busy--
		if s.err == nil {
			s.err = failed
		}
		for i, f := range seen {
			if f == nil {
				continue // it is gone
			}
			s.now[batch[i]] = f
			for _, name := range f.sub {
				s.queue = append(s.queue, path.Join(batch[i], name))
			}
		}
		s.todo.Broadcast()
	}
}

// folder looks at one; nil: there is none of that name.
func (s *search) folder(at string) (*folder, error) {
	id, stat, err := identify(s.fd, at)
	if err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, ignoreGone(err)
	}
	id.changed = stat.Ctim.Nano()
	if old := s.old[at]; old != nil && old.id == id && !old.recent {
		return old, nil
	}
	return read(s.fd, at, id)
}

// read reads a folder.
func read(root int, at string, id identity) (*folder, error) {
	f := &folder{id: id, recent: time.Since(time.Unix(0, id.changed)) < grain}
	fd, err := unix.Openat(root, at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		f.shut = true
		return f, nil
	}
	if err != nil {
		return nil, ignoreGone(err)
	}
	dir := os.NewFile(uintptr(fd), at)
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, ignoreGone(err)
	}
	bare := 0 // of the three by which git takes a folder for a repository
	for _, e := range entries {
		name := e.Name()
		switch {
		case name == "HEAD", e.IsDir() && (name == "objects" || name == "refs"):
			bare++
		}
		if k, ok := kindOf(name); ok {
			t, err := seen(fd, name, k)
			if err != nil {
				continue // it is gone
			}
			t.path = path.Join(at, name)
			f.things = append(f.things, t)
			continue
		}
		if e.IsDir() {
			f.sub = append(f.sub, name)
		}
	}
	if bare == 3 && at != "." {
		f.things = append(f.things, thing{path: at, kind: repository, id: identity{dev: id.dev, ino: id.ino}})
	}
	return f, nil
}

// seen is a thing in an open folder.
func seen(dir int, name string, k kind) (thing, error) {
	id, stat, err := identify(dir, name)
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR && stat.Nlink > 1 {
		id.changed = stat.Ctim.Nano() // another name of it may have been written to
	}
	return thing{kind: k, id: id}, err
}

func identify(dir int, at string) (identity, unix.Stat_t, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(dir, at, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return identity{dev: stat.Dev, ino: stat.Ino}, stat, err
}

func ignoreGone(err error) error {
	for _, e := range []error{fs.ErrNotExist, unix.ENOTDIR, unix.ELOOP, unix.ESTALE, unix.EACCES} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
