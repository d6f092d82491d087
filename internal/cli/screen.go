package cli

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ramet/internal/config"
	"ramet/internal/control"
	"ramet/internal/credential"
	"ramet/internal/fault"
	"ramet/internal/id"
	"ramet/internal/permit"
	"ramet/internal/workspace"
)

// ScreenRequest is what the terminal UI is made of. Nothing is open yet: the prompt
// is shown first.
type ScreenRequest struct {
	Place  workspace.Place
	Home   string
	Config *config.Config
	Keys   *credential.Store
	// Open opens the workspace; Run closes it.
	Open func(context.Context) (Workspace, error)
	// Kernel starts a kernel, which asks ask.
	Kernel func(ctx context.Context, ask permit.Asker, warn func(string)) (*Kernel, error)
	// Through carries out a verb here or, where a kernel holds the agent, there.
	Through func(ctx context.Context, a id.Agent, here func() error, there func(*control.Client) error) error
	// Gone says that the process which held leases under this name is dead.
	Gone func(owner string) bool
	// Command carries out a command line in this process and returns what it prints.
	// Only after Open.
	Command func(ctx context.Context, args ...string) (string, error)
}

// bare is `ramet` without a command: the terminal UI, or help where there is none.
func (s *session) bare(c *cobra.Command, _ []string) error {
	if s.Screen == nil || s.json {
		return c.Help()
	}
	r := ScreenRequest{Open: s.open, Command: s.within}
	var err error
	if r.Place, err = s.place(); err != nil {
		return err
	}
	if r.Home, err = s.homeDir(); err != nil {
		return err
	}
	if r.Config, err = s.config(); err != nil {
		return err
	}
	if r.Keys, err = s.credentials(); err != nil {
		return err
	}
	meeting, err := s.meeting()
	if err != nil {
		return err
	}
	r.Gone = meeting.Gone
	r.Kernel = func(ctx context.Context, ask permit.Asker, warn func(string)) (*Kernel, error) {
		return s.kernel(ctx, KernelRequest{Ask: ask, Warn: warn})
	}
	r.Through = func(ctx context.Context, a id.Agent, here func() error, there func(*control.Client) error) error {
		return s.through(ctx, s.ws, a, here, there)
	}
	return s.Screen(c.Context(), r)
}

// within carries out a command line in the workspace that is open.
func (s *session) within(ctx context.Context, args ...string) (string, error) {
	if s.ws == nil {
		return "", fault.New(fault.Failed, "the workspace is not open yet")
	}
	var out, warnings bytes.Buffer
	e := s.Env
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), &out, &warnings
	e.Terminal, e.ErrTerminal, e.Password, e.Screen = false, false, nil, nil
	sub := &session{Env: e}
	root := sub.root()
	sub.db, sub.home, sub.workspace = s.db, s.home, s.workspace
	sub.conf, sub.keys, sub.ws = s.conf, s.keys, s.ws
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return "", s.hide(err)
	}
	return warnings.String() + out.String(), nil
}
