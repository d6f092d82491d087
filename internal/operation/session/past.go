package session

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/store/database"
	"ramet/internal/turn/loop"
)

// states is the past of the workspace's folders, and the states that are being taken.
type states struct {
	once sync.Once
	past *files.Past

	mu     sync.Mutex
	work   sync.WaitGroup
	cancel []context.CancelFunc
	used   map[string]*files.PastFolder
}

// StatesFolder returns the folder of a workspace's states of files, next to its database.
func StatesFolder(home string, at config.WorkspaceLocation) string {
	if !strings.Contains(at.DB, "://") {
		return at.DB + ".files"
	}
	sum := sha256.Sum256([]byte(at.DB))
	return filepath.Join(home, "files", fmt.Sprintf("%x", sum[:8]))
}

// Past is the past of the folders that agents of the workspace work in.
func (w Files) Past() *files.Past {
	w.ws.past.once.Do(func() {
		o := files.PastOptions{Dir: StatesFolder(w.ws.Home, w.ws.Place), Home: os.Getenv("HOME"), Env: os.Environ(), Ignored: w.ws.Config.Files == "all",
			Hide: []string{w.ws.Home}}
		if !strings.Contains(w.ws.Place.DB, "://") {
			o.Hide = append(o.Hide, w.ws.Place.DB, w.ws.Place.DB+"-wal", w.ws.Place.DB+"-shm", w.ws.Place.DB+"-journal", w.ws.Place.DB+"-spare")
		}
		if database.IsPostgres(w.ws.Place.DB) && w.ws.Config.FilesShared == "yes" {
			o.Shared, o.Repository = w.ws.Store.Packs(), w.ws.Place.Project
		}
		if w.ws.Secrets != nil {
			o.Secret = func(b []byte) bool { s := string(b); return w.ws.Secrets.Own(s) != s }
		}
		w.ws.past.past = files.OpenPast(o)
	})
	return w.ws.past.past
}

// FileStates takes the states of the folder that an agent works in, for its turn. nil: none are
// taken.
func (w Files) FileStates(a agent.Agent, instead string) loop.Files {
	if w.ws.Config.Files == "no" || w.ws.Place.DB == "" {
		return nil
	}
	k := &keeping{w: w.ws, agent: a.ID}
	dir, err := w.ws.Folder(a, instead)
	if err == nil {
		k.folder, err = w.Past().Folder(dir)
	}
	k.none = err
	return k
}

// EndFileStates ends the states that are being taken, and keeps what the next process needs.
func (w Files) EndFileStates() {
	s := &w.ws.past
	s.mu.Lock()
	for _, cancel := range s.cancel {
		cancel()
	}
	s.cancel = nil
	used := s.used
	s.used = nil
	s.mu.Unlock()
	s.work.Wait()
	for _, f := range used {
		f.Save()
	}
}

// keeping is the states of one turn (loop.Files).
type keeping struct {
	w      *Workspace
	agent  id.Agent
	folder *files.PastFolder
	none   error // why no states are taken

	mu      sync.Mutex
	running *taking // the newest
	last    *history.State
}

// firstPass limits the wait for the first look at a folder.
const firstPass = 5 * time.Second

// taking is a state that is being taken (loop.Taking).
type taking struct {
	k      *keeping
	done   chan struct{}
	enough chan struct{} // closed: what is known has to do
	stop   func()
	taken  files.Taken
	err    error
}

// Begin implements loop.Files.
func (k *keeping) Begin() func() {
	k.mu.Lock()
	k.running = nil // what comes next is another state
	k.mu.Unlock()
	if k.folder == nil {
		return func() {}
	}
	return k.w.Files().Past().Begin(k.agent, k.folder.Root())
}

// Take implements loop.Files. A state that is still being taken, and nothing was written
// since, is the same one.
func (k *keeping) Take(ctx context.Context) loop.Taking {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.running; t != nil {
		select {
		case <-t.done:
		default:
			return t
		}
	}
	t := &taking{k: k, done: make(chan struct{}), enough: make(chan struct{})}
	t.stop = sync.OnceFunc(func() { close(t.enough) })
	k.running = t
	if k.folder == nil {
		t.err = k.none
		close(t.done)
		return t
	}
	walking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &k.w.past
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = append(s.cancel, cancel)
	if s.used == nil {
		s.used = map[string]*files.PastFolder{}
	}
	s.used[k.folder.Root()] = k.folder
	s.work.Go(func() {
		defer close(t.done)
		defer cancel()
		t.taken, t.err = k.folder.Take(walking, func() bool {
			select {
			case <-t.enough:
				return true
			default:
				return false
			}
		})
	})
	return t
}

// Done implements loop.Taking.
func (t *taking) Done(ctx context.Context, when history.When) (history.Draft, bool) {
	late := time.NewTimer(firstPass)
	defer late.Stop()
	select {
	case <-t.done:
	case <-ctx.Done():
		return history.Draft{}, false
	case <-late.C:
		t.stop()
		<-t.done
	}
	last, err := t.k.told(ctx)
	if err != nil {
		return history.Draft{}, false // the store failed: the turn finds out
	}
	s, changed := t.k.w.Files().stateOf(t.k.folder, t.taken, t.err, last)
	if !changed {
		return history.Draft{}, false
	}
	s.When = when
	t.k.mu.Lock()
	t.k.last = &s
	t.k.mu.Unlock()
	return history.NewState(s), true
}

// draftState drafts the state of an agent's files as they are now. It drafts nothing if the history
// tells that state already, or if none can be taken. It fails if the store does: a mark without its
// files would later restore older ones.
func (w Files) draftState(ctx context.Context, a agent.Agent) ([]history.Draft, error) {
	k, ok := w.FileStates(a, "").(*keeping)
	if !ok || k.folder == nil {
		return nil, nil
	}
	defer k.folder.Save()
	if _, err := w.RecoverFiles(ctx); err != nil {
		return nil, err
	}
	if _, err := k.told(ctx); err != nil {
		return nil, err
	}
	draft, changed := k.Take(ctx).Done(ctx, history.OnRequest)
	if !changed || draft.Meta.Files.Root == "" {
		return nil, ctx.Err()
	}
	return []history.Draft{draft}, nil
}

// told is the newest state that the agent's history tells; one without a root: there is none.
func (k *keeping) told(ctx context.Context) (history.State, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last == nil {
		found, _, err := history.StateAt(ctx, k.w.Store, k.agent, 0)
		if err != nil {
			return history.State{}, err
		}
		k.last = &found.State
	}
	return *k.last, nil
}

// stateOf returns the state of files for an entry, and whether it differs from the one that
// was recorded last.
func (w Files) stateOf(f *files.PastFolder, t files.Taken, err error, last history.State) (history.State, bool) {
	if err != nil {
		s := history.State{None: text.Line(string(fault.CodeOf(err))+": "+err.Error(), 300)}
		return s, s.None != last.None
	}
	s := history.State{Root: t.Root.String(), Folder: f.Root(), Step: t.Step,
		Head: t.Position.Head, Branch: t.Position.Branch, Index: t.Position.Index}
	if t.Partial() {
		s.Seen, s.Of = t.Seen, t.Of
	}
	if last.Root == s.Root && last.Folder == s.Folder && last.Head == s.Head && last.Branch == s.Branch && last.Partial() == s.Partial() {
		return s, false
	}
	if before, err := chain.ParseHash(last.Root); err == nil && last.Root != "" {
		changes := t.Changes
		if before != t.Before { // others took states since
			changes, err = files.Diff(w.Past().Store(), before, t.Root)
		}
		if err == nil {
			s.Changed, s.Bytes = addUp(changes)
		}
	}
	return s, true
}

// addUp counts files that changed.
func addUp(changes []files.Change) (n, bytes int64) {
	for _, c := range changes {
		switch {
		case c.After != nil && c.After.Kind != files.Dir:
			n++
			bytes += c.After.Size
		case c.After == nil && c.Before.Kind != files.Dir:
			n++
		}
	}
	return n, bytes
}

// Replaces notes what tools of an agent are about to replace in a folder, and with what. It returns
// nil if no states are taken of the folder.
func (w Files) Replaces(a id.Agent, root string) func(path string, old, content []byte) {
	if !w.takesStates(root) {
		return nil
	}
	return func(path string, old, content []byte) {
		f, err := w.Past().Folder(root)
		if err != nil {
			return
		}
		if old != nil {
			f.Saw(context.Background(), a, path, old) // the tool goes on if it cannot be kept
		}
		f.Writes(a, path, content)
	}
}
