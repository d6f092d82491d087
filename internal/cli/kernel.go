package cli

import (
	"context"
	"path/filepath"
	"time"

	"ramet/internal/config"
	"ramet/internal/control"
	"ramet/internal/credential"
	"ramet/internal/id"
	"ramet/internal/ledger"
	"ramet/internal/ledger/file"
	"ramet/internal/permit"
	"ramet/internal/proc"
	"ramet/internal/registry"
	"ramet/internal/workspace"
	"ramet/internal/worktree"
)

// KernelRequest is what a kernel is made of.
type KernelRequest struct {
	Workspace Workspace
	Place     workspace.Place
	Home      string
	Config    *config.Config
	Keys      *credential.Store
	Trusted   bool // the project is
	Trees     worktree.Keeper
	Cwd       string // where tools work instead of the agents' own folders; empty: there
	NoTools   bool   // nothing but speaking, and acting on agents
	Allow     []permit.Rule
	Book      ledger.Book   // of tasks
	Timeout   time.Duration // of all that the kernel is for; 0: none
	Ask       permit.Asker  // nil: nobody can be asked
	Warn      func(string)
}

// Kernel is a kernel of this process, and how to end it.
type Kernel struct {
	*proc.Kernel
	Close func()
}

// kernel starts a kernel for the workspace; the caller closes it.
func (s *session) kernel(ctx context.Context, r KernelRequest) (*Kernel, error) {
	r, err := s.kernelRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.Kernel(ctx, r)
}

// kernelRequest fills in what follows from the workspace.
func (s *session) kernelRequest(ctx context.Context, r KernelRequest) (KernelRequest, error) {
	var err error
	if r.Workspace, err = s.open(ctx); err != nil {
		return r, err
	}
	if r.Place, err = s.place(); err != nil {
		return r, err
	}
	if r.Home, err = s.homeDir(); err != nil {
		return r, err
	}
	if r.Config, err = s.config(); err != nil {
		return r, err
	}
	if r.Keys, err = s.credentials(); err != nil {
		return r, err
	}
	if r.Trusted, err = config.Trusted(r.Home, r.Place.Project, acting); err != nil {
		return r, err
	}
	trees, err := s.garden(ctx)
	if err != nil {
		return r, err
	}
	r.Trees = trees.Keeper
	r.Book = s.tasks(r.Place.Project)
	return r, nil
}

// meeting is where the kernels of the workspace are found.
func (s *session) meeting() (control.Place, error) {
	place, err := s.place()
	if err != nil {
		return control.Place{}, err
	}
	home, err := s.homeDir()
	return control.At(home, place.DB), err
}

// tell lets the kernels of this machine know what a command did. It returns when
// they have acted upon it.
func (s *session) tell(ctx context.Context, rings ...registry.Ring) error {
	place, err := s.meeting()
	if err != nil {
		return err
	}
	place.Tell(ctx, "", rings...)
	return nil
}

// bury lets the kernels of this machine end what they run of the dead. Nothing of
// them may run when it returns without an error.
func (s *session) bury(ctx context.Context, held map[id.Agent]string, rings ...registry.Ring) error {
	place, err := s.meeting()
	if err != nil {
		return err
	}
	return place.Bury(ctx, "", held, rings...)
}

// forget lets them drop what they remember of histories.
func (s *session) forget(ctx context.Context) error {
	place, err := s.meeting()
	if err != nil {
		return err
	}
	place.Forget(ctx)
	return nil
}

// through carries out a verb here or, where a kernel holds the agent, there.
func (s *session) through(ctx context.Context, ws Workspace, a id.Agent, here func() error, there func(*control.Client) error) error {
	place, err := s.meeting()
	if err != nil {
		return err
	}
	return place.Through(ctx, ws, a, here, there)
}

// tasks is the ledger of the workspace's own tasks.
func (s *session) tasks(project string) book {
	return book{file.At(filepath.Join(project, ".ramet"), file.Options{Now: s.Now, Repaired: s.tellRepair}), project}
}

// book makes the project's folder before the first entry, as every .ramet is made.
type book struct {
	*file.Folder
	project string
}

func (b book) Spawn(ctx context.Context, st ledger.Start) (ledger.Entry, error) {
	if err := stays(b.project, b.Dir(), "make it a folder"); err != nil {
		return ledger.Entry{}, err
	}
	if err := makeProjectFolder(b.project); err != nil {
		return ledger.Entry{}, err
	}
	return b.Folder.Spawn(ctx, st)
}
