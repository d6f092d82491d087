package cli

import (
	"context"

	"ramet/internal/config"
	"ramet/internal/control"
	"ramet/internal/credential"
	"ramet/internal/fault"
	"ramet/internal/id"
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
	Warn      func(string)
}

// Kernel is a kernel of this process, and how to end it.
type Kernel struct {
	*proc.Kernel
	Close func()
}

// kernel starts a kernel for the workspace; the caller closes it.
func (s *session) kernel(ctx context.Context, r KernelRequest) (*Kernel, error) {
	var err error
	if r.Workspace, err = s.open(ctx); err != nil {
		return nil, err
	}
	if r.Place, err = s.place(); err != nil {
		return nil, err
	}
	if r.Home, err = s.homeDir(); err != nil {
		return nil, err
	}
	if r.Config, err = s.config(); err != nil {
		return nil, err
	}
	if r.Keys, err = s.credentials(); err != nil {
		return nil, err
	}
	if r.Trusted, err = config.Trusted(r.Home, r.Place.Project, acting); err != nil {
		return nil, err
	}
	trees, err := s.garden(ctx)
	if err != nil {
		return nil, err
	}
	r.Trees = trees.Keeper
	return s.Kernel(ctx, r)
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

// forget lets them drop what they remember of histories.
func (s *session) forget(ctx context.Context) error {
	place, err := s.meeting()
	if err != nil {
		return err
	}
	place.Forget(ctx)
	return nil
}

// holder reaches the kernel that holds an agent, for a verb that was refused with
// LEASED. Other errors come back as they are.
func (s *session) holder(ctx context.Context, ws Workspace, a id.Agent, refused error) (*control.Client, error) {
	if !fault.Is(refused, fault.Leased) {
		return nil, refused
	}
	now, err := ws.Agent(ctx, a)
	if err != nil {
		return nil, err
	}
	if now.Lease.Owner == "" {
		return nil, refused // it was given back meanwhile; the user may try again
	}
	place, err := s.meeting()
	if err != nil {
		return nil, err
	}
	return place.Dial(ctx, now.Lease.Owner)
}
