package local

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"ramet/internal/files"
)

const mostVisited = 1_000_000 // names that are looked at

// folder is an open folder of a walk with what is in it that is no folder. It is open
// while it is visited.
type folder struct {
	dir    *os.Root
	rel    string // its path in the root
	inside string // its path below where the walk began; "" is there
	files  []fs.DirEntry

	users atomic.Int32
}

func (f *folder) leave() {
	if f.users.Add(-1) == 0 {
		f.dir.Close()
	}
}

// handle returns the place of a file in the folder; ok is false for what is no regular file.
func (f *folder) handle(name string) (_ *handle, ok bool) {
	info, err := f.dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	return &handle{dir: f.dir, name: name, rel: path.Join(f.rel, name), info: info}, true
}

// walk is a search through folders. Links are not followed, but for the first; git's own
// files, ramet's own and ignored ones are passed over.
type walk struct {
	l     *Local
	visit func(*folder) error // called by several at once

	jobs    chan *folder
	visited int
	closed  int  // folders that could not be read
	ignored bool // something was passed over because it is ignored
	far     bool // there were too many
}

// walk visits the folders below start, or start itself where that is a file: a folder with
// one file then.
func (l *Local) walk(ctx context.Context, start string, visit func(*folder) error) (*walk, error) {
	w := &walk{l: l, visit: visit, jobs: make(chan *folder, 64)}
	s, err := l.find(start, toRead)
	if err != nil {
		return w, err
	}
	defer s.close()
	if s.info == nil {
		return w, l.missing(start)
	}
	if !s.info.IsDir() {
		return w, visit(&folder{dir: s.dir, rel: path.Dir(s.rel), files: []fs.DirEntry{fs.FileInfoToDirEntry(s.info)}})
	}
	top, err := s.dir.OpenRoot(s.name)
	if err != nil {
		return w, explainPath(start, err)
	}
	if now, err := top.Stat("."); err != nil || !os.SameFile(s.info, now) {
		top.Close()
		return w, sentenceError("%s changed while it was opened.", showPath(start))
	}
	return w, w.run(ctx, &folder{dir: top, rel: s.rel}, l.rules(s.rel))
}

// rules returns what is ignored in a folder. In one that is ignored itself, and was named all
// the same, only its own rules hold.
func (l *Local) rules(rel string) files.IgnoreFolder {
	if path.IsAbs(rel) { // the agent's /tmp
		return files.IgnoreFolder{}
	}
	f := files.TopIgnore(l.o.Root, l.o.Env)
	if rel == "." {
		return f
	}
	at := l.o.Root
	for name := range strings.SplitSeq(rel, "/") {
		if f.Ignores(name, true) {
			return files.IgnoreFolder{}
		}
		at = filepath.Join(at, name)
		f = f.Enter(name, func(n string) bool { _, err := os.Lstat(filepath.Join(at, n)); return err == nil }, files.ReadIgnore(at))
	}
	return f
}

func (w *walk) run(ctx context.Context, top *folder, rules files.IgnoreFolder) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for f := range w.jobs {
				if ctx.Err() == nil {
					if err := w.visit(f); err != nil {
						stop(err)
					}
				}
				f.leave()
			}
		})
	}
	w.enter(ctx, top, rules)
	close(w.jobs)
	workers.Wait()
	return context.Cause(ctx)
}

// enter hands on what is in a folder, and continues below it.
func (w *walk) enter(ctx context.Context, f *folder, rules files.IgnoreFolder) {
	f.users.Store(1)
	defer f.leave()
	entries, err := fs.ReadDir(f.dir.FS(), ".")
	if err != nil {
		w.closed++
	}
	var below []fs.DirEntry
	for _, e := range entries {
		w.visited++
		switch {
		case gitName(e.Name()), isTrash(f.rel, e.Name()), w.l.owns(f.dir, e):
		case rules.Ignores(e.Name(), e.IsDir()):
			w.ignored = true
		case e.IsDir():
			below = append(below, e)
		default:
			f.files = append(f.files, e)
		}
	}
	if w.far = w.far || w.visited > mostVisited; w.far || ctx.Err() != nil {
		return
	}
	if len(f.files) > 0 {
		f.users.Add(1)
		select {
		case w.jobs <- f:
		case <-ctx.Done():
			f.leave()
			return
		}
	}
	for _, e := range below {
		next, err := openFolder(f.dir, e.Name())
		if err != nil {
			w.closed++ // it may not be read, went away, or became a link
			continue
		}
		sub := &folder{dir: next, rel: path.Join(f.rel, e.Name()), inside: path.Join(f.inside, e.Name())}
		has := func(name string) bool { _, err := next.Lstat(name); return err == nil }
		w.enter(ctx, sub, rules.Enter(e.Name(), has, func(name string) []byte { return ruleFile(next, name) }))
	}
}

// openFolder opens a folder in another that is a folder, and not a link to one.
func openFolder(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := next.Stat("."); err != nil || !os.SameFile(info, now) {
		next.Close()
		return nil, fs.ErrInvalid
	}
	return next, nil
}

// ruleFile returns the content of a file of rules in an open folder; nil where there is none.
func ruleFile(dir *os.Root, name string) []byte {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largest {
		return nil
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largest))
	if err != nil {
		return nil
	}
	return text
}

// note returns what was left out.
func (w *walk) note() string {
	note := ""
	if w.far {
		note += fmt.Sprintf("\n[stopped after %d names: begin in a smaller folder]", mostVisited)
	}
	if w.closed > 0 {
		note += fmt.Sprintf("\n[%d folders could not be read]", w.closed)
	}
	return note
}
