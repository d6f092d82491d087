package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/id"
)

// PastFolder is one folder, and its states.
type PastFolder struct {
	past *Past
	root string
	dir  string // where its states are noted

	mu      sync.Mutex // one walk at a time
	scanner *Scanner
	index   *Index
	loaded  bool
	unsaved bool
	added   jsonLines // steps
	last    pastStep  // the newest of them
}

// Root returns its real path.
func (f *PastFolder) Root() string { return f.root }

// Taken is a state that was taken.
type Taken struct {
	Root     chain.Hash
	Step     int64 // of the folder's states, from 1 on
	Seen, Of int64 // names that are known, of how many; they differ where there was no time
	Position ScanPosition
	Stored   int64 // bytes that it took on the disk
	// Changes since the folder's last state, whose root is Before.
	Changes []Change
	Before  chain.Hash
}

// Partial reports whether the state does not hold everything.
func (t Taken) Partial() bool { return t.Seen < t.Of }

// Take takes the state of the folder as it is. stop is asked often: true ends the walk, and
// the state is partial then; nil: nothing stops it.
func (f *PastFolder) Take(ctx context.Context, stop func() bool) (Taken, error) {
	return f.take(ctx, stop, nil)
}

// take takes a state; what own names is that agent's doing.
func (f *PastFolder) take(ctx context.Context, stop func() bool, own map[string]id.Agent) (Taken, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := durable.MakeFolders(0o700, f.dir, f.past.store.PackDir()); err != nil {
		return Taken{}, err
	}
	release, err := f.past.shared(ctx)
	if err != nil {
		return Taken{}, err
	}
	defer release()
	known := f.index
	for try := 1; ; try++ {
		last, err := f.latest()
		if err != nil {
			return Taken{}, err
		}
		r, stored, err := f.walk(ctx, stop)
		if err != nil {
			return Taken{}, err
		}
		since := last.N
		if try == mostWalks {
			since = anyStep
		}
		n, err := f.note(r.Root, since, walked{FindFolders(known, r.Index), f.past.store}, func(changes []Change) func(Change) author {
			return f.authors(ChangeTime(known, r.Index, changes), own)
		})
		if errors.Is(err, errStale) {
			continue
		}
		return Taken{Root: r.Root, Step: n.N, Seen: r.Seen, Of: r.Of, Position: f.scanner.Position(), Stored: stored, Changes: n.changes, Before: n.before}, err
	}
}

// mostWalks limits how often a folder is walked because other processes noted states meanwhile. Then
// what the last walk saw is noted, and some changes may become foreign.
const mostWalks = 5

// walked are the folders that walks saw; what they did not see is read.
type walked struct {
	seen  func(chain.Hash) (Folder, bool)
	store Source
}

// Folder implements files.Source.
func (w walked) Folder(h chain.Hash) (Folder, error) {
	if f, ok := w.seen(h); ok {
		return f, nil
	}
	return w.store.Folder(h)
}

// walk looks at the folder and keeps what is new.
func (f *PastFolder) walk(ctx context.Context, stop func() bool) (ScanResult, int64, error) {
	generation, err := f.past.store.Refresh()
	if err != nil {
		return ScanResult{}, 0, err
	}
	if !f.loaded {
		if f.index, err = LoadIndex(f.indexFile()); err != nil {
			return ScanResult{}, 0, err
		}
		f.loaded = true
	}
	var has func(chain.Hash) bool
	if f.index != nil && f.index.Generation != generation {
		has = f.past.store.Has
	}
	batch := f.past.store.Begin(f.scanner.Repository())
	defer batch.Drop()
	r, err := f.scanner.Walk(ctx, f.index, batch, has, stop)
	if err != nil {
		return r, 0, err
	}
	stored, err := batch.Commit()
	if err != nil {
		return r, 0, err
	}
	first := f.index == nil
	f.unsaved = f.unsaved || r.Read > 0 || r.Root != f.index.Root()
	r.Index.Generation = generation
	f.index = r.Index
	if first {
		f.save()
	}
	return r, stored, nil
}

func (f *PastFolder) indexFile() string { return filepath.Join(f.dir, "index") }

// Save puts the index on disk, so that the next process need not read everything again.
func (f *PastFolder) Save() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.save()
}

func (f *PastFolder) save() {
	if f.unsaved && f.index.Save(f.indexFile()) == nil { // a cache: without it, the next one reads more
		f.unsaved = false
		f.sayRoot()
	}
}

// sayRoot tells people whose states these are; nothing reads it, so that it is not synced.
func (f *PastFolder) sayRoot() {
	path := filepath.Join(f.dir, "path")
	if info, err := os.Lstat(path); err != nil || info.Size() == 0 {
		durable.PutFile(path, []byte(f.root), 0o600)
	}
}

// ctx is for what takes no time worth stopping.
func (f *PastFolder) ctx() context.Context { return context.Background() }

// shared keeps contents from being dropped.
func (p *Past) shared(ctx context.Context) (release func(), err error) {
	return p.lock(func(l *flock.Flock) (bool, error) { return l.TryRLockContext(ctx, lockEvery) })
}

// alone keeps all other processes from the contents.
func (p *Past) alone(ctx context.Context) (release func(), err error) {
	if err := durable.MakeFolder(p.o.Dir, 0o700); err != nil {
		return nil, err
	}
	return p.lock(func(l *flock.Flock) (bool, error) { return l.TryLockContext(ctx, lockEvery) })
}

func (p *Past) lock(try func(*flock.Flock) (bool, error)) (release func(), err error) {
	lock := flock.New(filepath.Join(p.o.Dir, "contents.lock"))
	ok, err := try(lock)
	if err == nil && !ok {
		err = errors.New("it is locked")
	}
	if err != nil {
		return nil, durable.Failure("lock", lock.Path(), err)
	}
	return func() { lock.Unlock() }, nil
}

// Saw takes a state of the folder before a tool of an agent overwrites a file, where the file is
// neither what the last state says nor what a tool of that agent wrote: the state keeps what the
// tool replaces, and notes whose it was. The tool continues if no state can be taken.
func (f *PastFolder) Saw(ctx context.Context, a id.Agent, path string, content []byte) error {
	h := chain.Sum(content)
	f.mu.Lock()
	was, ok := f.index.Node(path)
	f.mu.Unlock()
	if ok && was.Kind == File && was.Hash == h {
		return nil
	}
	if _, err := f.past.calls.read(); err != nil || f.past.calls.author(filepath.Join(f.root, path), h) == a {
		return err
	}
	_, err := f.Take(ctx, nil)
	return err
}
