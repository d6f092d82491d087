package session

import (
	"context"
	"path/filepath"
	"time"

	"ramet/internal/agent"
	"ramet/internal/bus"
	"ramet/internal/config"
	"ramet/internal/control"
	"ramet/internal/credential"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/ledger"
	"ramet/internal/ledger/file"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/proc"
	"ramet/internal/rundir"
	"ramet/internal/secret"
	"ramet/internal/state"
	"ramet/internal/store"
	"ramet/internal/workspace"
)

// Workspace is an open workspace, and what a person does there. Its methods are safe for
// concurrent use once a kernel was started, or none is.
type Workspace struct {
	Store   *store.Cleaned
	Peers   control.Folder // where the kernels of this machine are
	Place   workspace.Location
	Home    string
	Config  *config.Config
	Keys    *credential.Store
	Secrets *secret.Redactor
	Trees   Trees
	Book    ledger.Book // of tasks

	// Kernel is the one of this process; nil: there is none.
	Kernel *proc.Kernel
	// Elsewhere carries what happens in other kernels to turns that were asked for here.
	Elsewhere bus.Bus[loop.Event]

	own    id.Agent // whose command this process is; empty: a person's
	allows bool     // the kernel of this process has permissions of its own

	start func(context.Context, Kernel) (*Running, error)
	learn func(*credential.Store) // see System
	stop  func()
	runs  func() (*rundir.Store, error)
	files files
	dead  dead
	ends  state.Memory // how histories end, for the terminal
	now   func() time.Time
}

// Kernel says how a kernel of this process works.
type Kernel struct {
	Cwd     string // where tools work instead of the agents' own folders; empty: there
	NoTools bool   // nothing but speaking, and acting on agents
	Allow   []permit.Rule
	Timeout time.Duration // of all that the kernel is for; 0: none
	Ask     permit.Asker  // nil: nobody can be asked
	Warn    func(string)
	// Attended says that a person at a terminal sees what the kernel does.
	Attended bool
}

// Running is a kernel, and how to end it.
type Running struct {
	*proc.Kernel
	Close func()
}

// Open opens the workspace once; Close closes it.
func (s *Session) Open(ctx context.Context) (*Workspace, error) {
	if s.open != nil {
		return s.open, nil
	}
	w := &Workspace{now: s.Now, learn: s.Learn}
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
	w.Peers = control.At(w.Home, w.Place.DB)
	w.Book = book{file.At(filepath.Join(w.Place.Project, ".ramet"), file.Options{Now: s.Now, Repaired: s.Repaired, Project: w.Place.Project}), w.Place.Project}
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
	w.Trees = Trees{w: w}
	w.own, _ = s.by()
	s.open = w
	return w, nil
}

// Over is a workspace of parts that are open already, with a kernel or without.
func Over(s *store.Cleaned, peers control.Folder, k *proc.Kernel) *Workspace {
	w := &Workspace{Store: s, Peers: peers, Kernel: k, Config: &config.Config{}, now: time.Now}
	w.Trees = Trees{w: w}
	return w
}

// Start starts the kernel of this process.
func (w *Workspace) Start(ctx context.Context, k Kernel) error {
	if w.Kernel != nil {
		return fault.New(fault.Failed, "a kernel runs here already")
	}
	r, err := w.start(ctx, k)
	if err != nil {
		return err
	}
	w.Kernel, w.stop, w.allows = r.Kernel, r.Close, len(k.Allow) > 0
	if err := w.EndRuns(ctx); err != nil && k.Warn != nil {
		k.Warn("agents of runs that were interrupted are left: " + err.Error())
	}
	return nil
}

// Stopped ends the kernel of this process, and returns when nothing of it runs.
func (w *Workspace) Stopped() {
	if w.stop != nil {
		w.stop()
	}
	w.Kernel, w.stop = nil, nil
}

func (w *Workspace) close() error {
	w.Stopped()
	return w.Store.Close()
}

// owner is the name under which this process holds leases; empty: it holds none.
func (w *Workspace) owner() string {
	if w.Kernel == nil {
		return ""
	}
	return w.Kernel.Owner
}

// Find is the agent that a word names.
func (w *Workspace) Find(ctx context.Context, ref string) (agent.Agent, error) {
	return agent.Find(ctx, w.Store, ref)
}

// mended closes what a kernel that died left open in an agent's history, before anything
// else is written there: what it showed of a reply would be lost. And nobody need wait for
// the lease of the dead to run out.
func (w *Workspace) mended(ctx context.Context, a agent.Agent) error {
	if w.Kernel != nil || a.Lease.Owner == "" || a.Status != agent.Running {
		return nil // a kernel mends by itself
	}
	_, now, err := w.Store.Leased(ctx)
	if err != nil || a.Lease.Live(now) && !w.Peers.Gone(a.Lease.Owner) {
		return err
	}
	k, err := w.start(ctx, Kernel{NoTools: true}) // which does so when it starts
	if err != nil {
		return err
	}
	k.Close()
	return nil
}

// through carries out a verb here or, where a kernel holds the agent, there.
func (w *Workspace) through(ctx context.Context, a id.Agent, here func() error, there func(*control.Client) error) error {
	return w.Peers.Through(ctx, w.Store, a, here, there)
}

// book makes the project's folder before the first entry, as every .ramet is made.
type book struct {
	*file.Folder
	project string
}

func (b book) Spawn(ctx context.Context, st ledger.Start) (ledger.Entry, error) {
	if err := Stays(b.project, b.Dir(), "make it a folder"); err != nil {
		return ledger.Entry{}, err
	}
	if err := MakeProjectFolder(b.project); err != nil {
		return ledger.Entry{}, err
	}
	return b.Folder.Spawn(ctx, st)
}
