package rundir

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/run"
)

// Files are the files of a run, below its folder. Paths are relative, with slashes; none
// leads out of the folder, also not over a symbolic link.
type Files struct {
	dir  string
	root *step.Root
}

// OpenFiles opens the files of a run.
func (s *Store) OpenFiles(runID string) (*Files, error) {
	root, err := s.enter(runID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.gone(runID)
	}
	if err != nil {
		return nil, err
	}
	return &Files{s.Dir(runID), step.In(root)}, nil
}

// Close gives back the folder.
func (f *Files) Close() error { return f.root.Close() }

// Dir is the folder itself.
func (f *Files) Dir() string { return f.dir }

// Read gives the content of a file; NOT_FOUND if it is not there.
func (f *Files) Read(name string) ([]byte, error) {
	data, err := f.root.ReadFile(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "there is no %s in %s", name, f.dir)
	case err != nil:
		return nil, durable.Failure("read", filepath.Join(f.dir, name), err)
	}
	return data, nil
}

// Hash is the SHA-256 of a file as it is now.
func (f *Files) Hash(name string) (string, bool) {
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", false
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", false
	}
	return hex.EncodeToString(sum.Sum(nil)), true
}

// Below lists the files below a folder, sorted. Those that are being written are not
// among them.
func (f *Files) Below(folder string) ([]string, error) {
	var out []string
	err := fs.WalkDir(f.root.FS(), path.Clean(folder), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), stagePrefix):
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		return nil, durable.Failure("read", filepath.Join(f.dir, folder), err)
	}
	slices.Sort(out)
	return out, nil
}

// Remove takes a file away.
func (f *Files) Remove(name string) error {
	if err := f.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("remove", filepath.Join(f.dir, name), err)
	}
	return nil
}

// stagePrefix marks files that wait for their names.
const stagePrefix = ".staged-"

// staged is a file that is durable and waits for its name.
type staged struct {
	files      *Files
	temp, name string
}

// Stage writes content under another name in the same folder.
func (f *Files) Stage(name string, data []byte) (run.Staged, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return nil, fault.New(fault.InvalidText, "%.120q is not a path below the run's folder", name)
	}
	full := filepath.Join(f.dir, filepath.FromSlash(name))
	fail := func(err error) (run.Staged, error) { return nil, durable.Failure("write", full, err) }
	if err := f.makeFolders(path.Dir(name)); err != nil {
		return fail(err)
	}
	s := &staged{files: f, temp: path.Join(path.Dir(name), stagePrefix+rand.Text()[:8]+"-"+path.Base(name)), name: name}
	file, err := f.root.OpenFile(filepath.FromSlash(s.temp), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fail(err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		s.Discard()
		return fail(err)
	}
	return s, nil
}

// makeFolders makes a folder with those above it, each durable before the next.
func (f *Files) makeFolders(folder string) error {
	if folder == "." {
		return nil
	}
	if info, err := f.root.Stat(filepath.FromSlash(folder)); err == nil && info.IsDir() {
		return nil
	}
	if err := f.makeFolders(path.Dir(folder)); err != nil {
		return err
	}
	if err := f.root.Mkdir(filepath.FromSlash(folder), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return durable.SyncFolder(filepath.Join(f.dir, filepath.FromSlash(path.Dir(folder))))
}

// Commit gives the file its name, in place of what had it.
func (s *staged) Commit() error {
	full := filepath.Join(s.files.dir, filepath.FromSlash(s.name))
	if err := s.files.root.Rename(filepath.FromSlash(s.temp), filepath.FromSlash(s.name)); err != nil {
		return durable.Failure("write", full, err)
	}
	return durable.SyncFolder(filepath.Dir(full))
}

// Discard takes the file away, unless it has its name already.
func (s *staged) Discard() { s.files.root.Remove(filepath.FromSlash(s.temp)) }

// Remover deletes logs that are not in the folder of their run.
type Remover interface {
	Remove(ctx context.Context, kind Kind, runID string) error
}

// Remove deletes a run: its folder, with all that it made, and its log. LOCKED: a process carries it out.
// CONFLICT: another run continues it, or may do so as it cannot be read, and anyway is false. ILLEGAL_TRANSITION: it is
// not over, and anyway is false.
func (s *Store) Remove(ctx context.Context, runID string, anyway bool) error {
	x, err := s.OpenSession(ctx, runID, "")
	if err != nil && (!anyway || fault.Is(err, fault.Locked) || fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidID)) {
		return err
	}
	if x != nil {
		defer x.Close()
		if state := x.CurrentState(); !state.Terminal() && !anyway {
			return fault.New(fault.IllegalTransition, "run %s is %s: it could continue", runID, state).
				WithHint("cancel it first (`ramet run cancel %s`), or remove it all the same with --force", runID)
		}
	}
	child, err := s.continues(ctx, runID, anyway)
	if err == nil && child != "" {
		err = fault.New(fault.Conflict, "run %s continues run %s and shares its events", child, runID).
			WithHint("remove that one first; nothing was removed")
	}
	if err != nil {
		return err
	}
	kind, err := s.kind(runID, "")
	if err == nil && kind.Remote() {
		remover, ok := s.Logs.(Remover)
		if !ok {
			return fault.New(fault.Failed, "the log of run %s is in a server, where it cannot be removed from here", runID)
		}
		if err := remover.Remove(ctx, kind, runID); err != nil {
			return err
		}
	}
	// Under another name first: what is half removed is no run.
	gone := filepath.Join(s.Root, ".gone-"+runID)
	if err := step.RemoveAll(gone); err != nil {
		return durable.Failure("remove", gone, err)
	}
	if err := step.Rename(s.Dir(runID), gone); err != nil {
		return durable.Failure("remove", s.Dir(runID), err)
	}
	if err := durable.SyncFolder(s.Root); err != nil {
		return err
	}
	return durable.Failure("remove", gone, step.RemoveAll(gone))
}

// continues returns a run that continues another, or "". A run that cannot be read is CONFLICT, unless anyway is true.
func (s *Store) continues(ctx context.Context, runID string, anyway bool) (string, error) {
	ids, err := s.List()
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		if id == runID {
			continue
		}
		r, err := s.Open(ctx, id, "")
		if err != nil && (anyway || fault.Is(err, fault.NotFound)) {
			continue
		}
		if err != nil {
			return "", fault.New(fault.Conflict, "run %s may continue run %s: it cannot be read: %w", id, runID, err).
				WithHint("remove run %s all the same with --force; nothing was removed", runID)
		}
		forked := r.fork != (run.Fork{}) && r.fork.ParentRunID == runID
		if err := r.Close(); err != nil || forked {
			return id, err
		}
	}
	return "", nil
}

// filesRemoved is the type of the event that lists files of a run that a person removed. It is not one of the
// format's own types: readers that do not know it skip it, and find the files missing.
const filesRemoved run.Type = "ARTIFACTS_REMOVED"

type removal struct {
	Paths  []string `json:"paths"`
	Reason string   `json:"reason,omitempty"`
}

// Removable returns the existing files that can be removed from a run that ended: its evidence, and with artifacts
// every file that its log names.
func (r *Reader) Removable(ctx context.Context, artifacts bool) ([]Sized, error) {
	state, err := r.State(ctx)
	if err != nil {
		return nil, err
	}
	if !state.RunState.Terminal() {
		return nil, fault.New(fault.Conflict, "run %s is %s: it may need its files", r.RunID, state.RunState).
			WithHint("only of runs that ended files are removed")
	}
	files, err := r.store.OpenFiles(r.RunID)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	names := map[string]bool{}
	evidence, err := files.Below(strings.TrimSuffix(run.EvidenceFolder, "/"))
	if err != nil {
		return nil, err
	}
	for _, name := range evidence {
		names[name] = true
	}
	if artifacts {
		w := newFileAudit(r.RunID)
		for e, err := range r.Events(ctx, 0) {
			if err != nil {
				return nil, err
			}
			w.note(e.Event)
		}
		for name := range w.sums {
			names[name] = run.IsPath(name)
		}
	}
	var out []Sized
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if info, err := files.root.Lstat(filepath.FromSlash(name)); names[name] && err == nil && info.Mode().IsRegular() {
			out = append(out, Sized{name, info.Size()})
		}
	}
	return out, nil
}

type Sized struct {
	Path  string
	Bytes int64
}

// mostPaths limits the files that one event names.
const mostPaths = 500

// Remove deletes files of the run. The log records it first, so that a verification knows which files are
// missing on purpose.
func (x *Session) Remove(ctx context.Context, paths []string, reason string) error {
	for some := range slices.Chunk(paths, mostPaths) {
		payload, err := json.Marshal(removal{Paths: some, Reason: reason})
		if err != nil {
			return err
		}
		if _, err := x.Append(ctx, run.Request{Type: filesRemoved, Payload: payload}); err != nil {
			return err
		}
	}
	if err := x.Settle(); err != nil {
		return err
	}
	files, err := x.store.OpenFiles(x.RunID)
	if err != nil {
		return err
	}
	defer files.Close()
	for _, name := range paths {
		if err := files.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
