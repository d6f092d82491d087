package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/config"
	"ramet/internal/core/history"
	"ramet/internal/files"
	"ramet/internal/launch/sandbox"
	"ramet/internal/operation/public"
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

// OverlayFolder returns ramet's own folder for what confined commands change until it is applied.
func OverlayFolder(home string) string { return filepath.Join(home, "overlay") }

// Overlay returns where the changes of an agent's confined commands in a folder are kept. It notes that they are the agent's.
func (w Files) Overlay(a id.Agent, root string) *sandbox.Overlay {
	o := &sandbox.Overlay{Dir: OverlayFolder(w.ws.Home)}
	if !w.takesStates(root) {
		return o
	}
	folder := func(do func(f *files.PastFolder)) {
		if f, err := w.Past().Folder(root); err == nil {
			do(f)
		}
	}
	o.Begun = func(string) { folder(func(f *files.PastFolder) { f.Overlaid(a) }) }
	o.Before = func(_ string, paths []string) {
		folder(func(f *files.PastFolder) { f.Replaced(context.Background(), a, paths) }) // they are applied if no state can be taken
	}
	o.After = func(_ string, changes []sandbox.OverlayChange) {
		folder(func(f *files.PastFolder) { f.Applied(a, changes) })
	}
	return o
}

// mostDiffed limits the bytes that are compared line by line.
const mostDiffed = 1 << 20

// DiffFiles compares the files of an agent at two messages. Without the second: with what they
// are now; without both: what they are now with what they were before its last turn.
func (w Files) DiffFiles(ctx context.Context, a agent.Agent, from, to id.Message) ([]public.FileChange, error) {
	before, err := w.target(ctx, Restoring{Agent: a, At: from, Last: from == 0})
	if err != nil {
		return nil, err
	}
	was, err := w.stateHash(before.State)
	if err != nil {
		return nil, err
	}
	var is chain.Hash
	if to == 0 {
		is, err = w.nowHash(ctx, a, before.State)
	} else {
		var after history.Stated
		if after, err = w.StateAt(ctx, a, to); err == nil {
			is, err = w.stateHash(after.State)
		}
	}
	if err != nil {
		return nil, err
	}
	return w.diff(ctx, was, is)
}

// DiffState shows what a state of an agent's lineage changed, by the id of its entry.
func (w Files) DiffState(ctx context.Context, a agent.Agent, entry id.Message) ([]public.FileChange, error) {
	if err := history.Lookup(ctx, w.ws.Store, a.ID, entry); err != nil {
		return nil, err
	}
	e, err := w.ws.Store.Entry(ctx, entry)
	if err != nil {
		return nil, err
	}
	m, err := e.Decode()
	if err != nil {
		return nil, err
	}
	if m.Files == nil {
		return nil, fault.New(fault.NotFound, "message %d of agent %s is not a state of files", entry, a.Label()).
			WithHint("`ramet files %s --states` lists them", a.Label())
	}
	before, ok, err := history.StateBefore(ctx, w.ws.Store, e.Agent, entry)
	if err != nil || m.Files.Root == "" {
		return nil, err
	}
	is, err := w.stateHash(*m.Files)
	if err != nil || !ok || before.Root == "" { // with nothing before, nothing changed
		return nil, err
	}
	was, err := w.stateHash(before.State)
	if err != nil {
		return nil, err
	}
	return w.diff(ctx, was, is)
}

// nowHash returns the state of a folder as it is.
func (w Files) nowHash(ctx context.Context, a agent.Agent, s history.State) (chain.Hash, error) {
	f, err := w.folderOf(a, s)
	if err != nil {
		return chain.Hash{}, err
	}
	defer f.Save()
	if _, err := w.RecoverFiles(ctx); err != nil { // files that are half restored are no change
		return chain.Hash{}, err
	}
	now, err := f.Take(ctx, nil)
	return now.Root, err
}

func (w Files) diff(ctx context.Context, was, is chain.Hash) ([]public.FileChange, error) {
	changes, err := files.Diff(w.Past().Store(), was, is)
	if err != nil {
		return nil, err
	}
	var out []public.FileChange
	for _, c := range changes {
		if dir := func(n *files.Node) bool { return n == nil || n.Kind == files.Dir }; dir(c.Before) && dir(c.After) {
			continue
		}
		one := public.FileChange{Path: escapePath(c.Path), RawPath: public.RawName(c.Path), Verb: c.Verb()}
		if one.Diff, one.Note, err = w.compare(ctx, c); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// compare shows what changed in a file, or says why not.
func (w Files) compare(ctx context.Context, c files.Change) (diff, note string, err error) {
	var content [2]string
	name := [2]string{"a/" + text.Name(c.Path), "b/" + text.Name(c.Path)}
	for i, n := range []*files.Node{c.Before, c.After} {
		switch {
		case n == nil || n.Kind == files.Dir:
			name[i] = "/dev/null"
			continue
		case c.Nested != "" || n.Kind == files.Repo:
			return "", files.Nested, nil
		case n.Kind == files.Other:
			return "", "no file", nil
		case !n.Known():
			return "", "the content is not known", nil
		case n.Size > mostDiffed:
			return "", fmt.Sprintf("%d bytes", n.Size), nil
		}
		kept, err := w.Past().Store().Get(ctx, n.Hash)
		if fault.Is(err, fault.NotFound) {
			return "", "the content was not kept", nil
		}
		if err != nil {
			return "", "", err
		}
		if bytes.IndexByte(kept, 0) >= 0 || !utf8.Valid(kept) {
			return "", fmt.Sprintf("no text, %d bytes", n.Size), nil
		}
		content[i] = string(kept)
	}
	if b, a := c.Before, c.After; b != nil && a != nil && b.Mode != a.Mode {
		note = fmt.Sprintf("mode %v → %v", formatMode(b), formatMode(a))
	}
	return udiff.Unified(name[0], name[1], content[0], content[1]), note, nil
}

// formatMode returns the permissions as ls shows them.
func formatMode(n *files.Node) fs.FileMode {
	switch n.Kind {
	case files.Link:
		return fs.ModeSymlink | 0o777
	case files.Dir:
		return fs.ModeDir | n.Perm()
	}
	return n.Perm()
}

// What faces show of states, as docs/json.md has it.

var kindNames = map[files.Kind]string{files.File: "file", files.Link: "link", files.Dir: "folder", files.Repo: "repository", files.Other: "other"}

// escapePath returns a path as text, with marks in place of invalid UTF-8.
func escapePath(path string) string { return strings.ToValidUTF8(path, "\uFFFD") }

// ShowFiles returns a state with all its files.
func (w Files) ShowFiles(s history.Stated) (public.FileList, error) {
	out := public.FileList{FileState: public.FormatFileState(s), Files: []public.File{}}
	err := w.ListFiles(s.State, func(p string, n files.Node, has bool) error {
		one := public.File{Path: escapePath(p), RawPath: public.RawName(p), Kind: kindNames[n.Kind], Mode: formatMode(&n).String(),
			Size: n.Size, Restorable: has && n.Known()}
		if n.Known() && n.Kind != files.Repo {
			one.Hash = n.Hash.String()
		}
		out.Files = append(out.Files, one)
		return nil
	})
	return out, err
}

// ShowStates lists the own states of an agent, oldest first.
func (w Files) ShowStates(ctx context.Context, a agent.Agent) (public.FileStates, error) {
	out := public.FileStates{States: []public.FileState{}}
	all, err := history.States(ctx, w.ws.Store, a.ID)
	for _, s := range all {
		out.States = append(out.States, public.FormatFileState(s))
	}
	return out, err
}

// Show returns the public shape of a restore; plan: nothing was done.
func (r Restored) Show(plan bool) public.Restore {
	out := public.Restore{State: public.FormatFileState(r.To), Restored: []string{}, Removed: []string{}, Kept: []public.Kept{}, Trashed: []public.Trashed{}, Plan: plan}
	changed := map[string]bool{}
	for _, p := range r.Changed {
		changed[p] = true
	}
	for _, p := range r.Plan.Restores() {
		if plan || changed[p] {
			out.Restored = append(out.Restored, escapePath(p))
		}
	}
	for _, p := range r.Plan.Removes() {
		if plan || changed[p] {
			out.Removed = append(out.Removed, escapePath(p))
		}
	}
	for _, k := range r.Plan.Kept {
		out.Kept = append(out.Kept, public.Kept{Path: escapePath(k.Path), Why: k.Why})
	}
	if plan {
		for _, p := range r.Plan.Trashes() {
			out.Trashed = append(out.Trashed, public.Trashed{Path: escapePath(p)})
		}
	}
	for _, e := range r.Trashed {
		out.Trashed = append(out.Trashed, public.Trashed{Path: escapePath(e.Path), ID: e.Name()})
	}
	if r.Entry != nil {
		n := int64(r.Entry.ID)
		out.EntryID = &n
	}
	return out
}
