package session

import (
	"context"
	"path/filepath"

	"ramet/internal/base/fault"
	"ramet/internal/core/config"
	"ramet/internal/core/kit"
	"ramet/internal/ledger"
	"ramet/internal/operation/control"
	"ramet/internal/run/rundir"
	"ramet/internal/store"
)

// Held reports whether the workspace that is open belongs to this process, and its kernel runs for others too.
func (s *Session) Held() bool { return s.held }

// Opened is the workspace, if it is open.
func (s *Session) Opened() *Workspace { return s.open }

// Open opens the workspace once; Close closes it.
func (s *Session) Open(ctx context.Context) (*Workspace, error) {
	if s.open != nil {
		return s.open, nil
	}
	if s.Hold != nil {
		return s.openHeld(ctx)
	}
	w := &Workspace{Now: s.Now, learn: s.Learn, find: s.Find, mcp: s.MCP, runHooks: s.Hooks, drivers: s.Drivers, unsay: s.Unsay, Command: s.Command, CommandFor: s.CommandFor}
	var err error
	if w.Place, err = s.Place(); err != nil {
		return nil, err
	}
	if w.Home, err = s.HomeDir(); err != nil {
		return nil, err
	}
	if w.Config, err = s.Config(); err != nil {
		return nil, err
	}
	if w.Keys, err = s.Keys(); err != nil {
		return nil, err
	}
	if w.Secrets, err = s.Secrets(); err != nil {
		return nil, err
	}
	w.credentials = func() map[string]string { return s.credentials(w.Keys) }
	path, err := config.Path(s.Getenv)
	if err != nil {
		return nil, err
	}
	w.settings = &settings{path: path, conf: w.Config, stamp: s.stamp, load: s.Settings}
	w.user = kit.UserInstructions{Dir: filepath.Dir(path), Home: s.Getenv("HOME")}
	w.Peers = control.At(w.Home, w.Place.DB)
	w.Peers.Clean = w.Secrets.Own
	w.Book = book{ledger.FolderAt(filepath.Join(w.Place.Project, ".ramet"), ledger.FolderOptions{Now: s.Now, Repaired: s.Repaired, Project: w.Place.Project}), w.Place.Project}
	w.start = func(ctx context.Context, k Kernel) (*Running, error) { return s.Start(ctx, w, k) }
	fresh, err := s.fresh(w.Place)
	if err != nil {
		return nil, err
	}
	w.runs = func() (*rundir.Store, error) { return s.Runs("") }
	opened, err := s.System.Open(ctx, w.Place)
	if err != nil {
		return nil, err
	}
	if fresh && s.Made != nil {
		s.Made(w.Place.DB)
	}
	w.Store = store.Clean(opened, w.Secrets.Own)
	w.prompts = s.Prompts()
	w.own, _ = s.Own()
	s.open = w
	s.finish(ctx, w)
	return w, nil
}

// openHeld opens a workspace that this process holds for all its sessions.
func (s *Session) openHeld(ctx context.Context) (*Workspace, error) {
	place, err := s.Place()
	if err != nil {
		return nil, err
	}
	fresh, err := s.fresh(place)
	if err != nil {
		return nil, err
	}
	s.open, err = s.Hold(ctx, s)
	if s.held = err == nil; fresh && s.held && s.Made != nil {
		s.Made(place.DB)
	}
	return s.open, err
}

// finish finishes what a process that was killed left half restored, whatever this one is for. What
// cannot be is tried again by whoever needs the files, and they say why.
func (s *Session) finish(ctx context.Context, w *Workspace) {
	if !w.Files().Past().Pending() {
		return
	}
	done, _ := w.Files().RecoverFiles(ctx)
	for _, d := range done {
		if s.Finished != nil {
			s.Finished(d)
		}
	}
}

// Close closes the workspace. What runs here ends.
func (s *Session) Close() error {
	if s.open == nil || s.held {
		return nil
	}
	return s.open.close()
}

// Within is a session for another command line on the workspace that is open.
func (s *Session) Within() *Session {
	sub := *s
	return &sub
}

// Anew is a session for another workspace of the same place: its kernel and its connections
// are its own.
func (s *Session) Anew() *Session {
	sub := *s
	sub.open, sub.held = nil, false
	return &sub
}

// In is a session at another folder, of which nothing is read yet.
func (s *Session) In(dir string) *Session {
	sub := New(s.System, s.Choice)
	sub.Dir, sub.Repaired, sub.Made = dir, s.Repaired, s.Made
	return sub
}

// Start starts the kernel of this process.
func (w *Workspace) Start(ctx context.Context, k Kernel) error {
	if w.Kernel != nil {
		return fault.New(fault.Failed, "a kernel runs here already")
	}
	if w.own != "" {
		k.Ask = nil // an agent answers no question, whatever face it opens
	}
	r, err := w.start(ctx, k)
	if err != nil {
		return err
	}
	w.Kernel, w.stop = r.Kernel, r.Close
	if err := w.Agents().EndRuns(ctx); err != nil && k.Warn != nil {
		k.Warn("agents of runs that were interrupted are left: " + err.Error())
	}
	return nil
}
