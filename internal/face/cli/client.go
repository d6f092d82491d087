package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
)

// CommandRequest is a command line that a client sends to the background kernel. The kernel carries it out on the
// workspaces that it holds, with the client's folder, environment and streams.
type CommandRequest struct {
	Version                      string
	Args                         []string
	Dir                          string
	Environ                      []string // see ClientVariables
	Umask                        string
	Terminal, ErrTerminal, Input bool // standard output, standard error and standard input are terminals
}

// Elsewhere carries out a command line in the background kernel if one runs, or, with start, in one that it starts.
// ran is false if the command line is to be carried out in this process.
type Elsewhere func(ctx context.Context, l *Line, args []string, start bool) (exit int, ran bool, err error)

// carryElsewhere lets the background kernel carry out a command line that acts on agents, so that every face sees the
// same states. The error is Exited if the kernel did.
func (l *Line) carryElsewhere(c *cobra.Command) error {
	uses, starts := usesKernel(c)
	if l.elsewhere == nil || !uses {
		return nil
	}
	exit, ran, err := l.elsewhere(c.Context(), starts)
	if err == nil && ran {
		err = Exited(exit)
	}
	return err
}

// agreeOnVersion returns CONFLICT if the background kernel that runs is of another version: it may hold what this process
// would change. At a terminal it offers to restart a kernel that is idle.
func (l *Line) agreeOnVersion(ctx context.Context) error {
	if l.background == nil {
		return nil
	}
	k, err := l.background()
	if err != nil {
		return nil // none can run; whatever needs one reports why
	}
	return k.Agree(ctx, l)
}

// usesKernel reports whether a command is carried out in the background kernel if one runs, and whether it starts one.
func usesKernel(c *cobra.Command) (uses, starts bool) {
	switch name := strings.TrimPrefix(c.CommandPath(), "ramet "); name {
	case "acp", "mcp serve":
		return true, true
	case "exec":
		noWait, _ := c.Flags().GetBool("no-wait")
		return true, noWait
	default:
		o := operation.Named(name)
		return o != nil && !o.Describe().OnRuns && !o.Describe().OnHome && !o.Describe().Here, false
	}
}

// refuseConfined refuses what a confined command of an agent can't ask of its kernel. No rule permitted its command line, so
// it can do what the agent can do over MCP.
func (l *Line) refuseConfined(c *cobra.Command) error {
	name := strings.TrimPrefix(c.CommandPath(), "ramet ")
	o := operation.Named(name)
	refused := o == nil || o.Describe().Faces&operation.MCP == 0
	if !refused {
		offered := operation.Offered(o, operation.MCP)
		c.Flags().Visit(func(f *pflag.Flag) {
			refused = refused || f.Name != "json" && !slices.ContainsFunc(offered, func(p operation.Param) bool { return p.Flag() == f.Name })
		})
	}
	if !refused {
		return nil
	}
	return fault.New(fault.Denied, "%s: a command in the sandbox can do only what the agent's MCP tools can do", name).
		WithHint("run it outside of the sandbox, and say why")
}

// runForAgent carries out the command line of an agent on the workspace that is open in l: in the agent's folder, with
// the variables of this process, and with the rights of the agent.
func runForAgent(ctx context.Context, e Env, l *Line, c session.AgentCommand) int {
	e.Streams, e.Background, e.Screen, e.Pick = Streams{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr}, Background{}, nil, nil
	e.Servers.Elsewhere = nil
	e.System.Dir = c.Agent.Cwd
	e.System.Agent = func() (id.Agent, bool) { return c.Agent.ID, true }
	e.Confined = c.Confined
	w := l.Opened()
	e.Choice = session.Choice{DB: w.Place.DB, Home: w.Home}
	e.System.Hold = func(ctx context.Context, s *session.Session) (*session.Workspace, error) {
		if place, err := s.Place(); err != nil || place.DB != w.Place.DB {
			return nil, fault.New(fault.Denied, "a command of an agent stays in its workspace")
		}
		return w, nil
	}
	caller := operation.Caller{Agent: c.Agent.ID}
	if c.Confined {
		caller.Face = history.MCP
	}
	return Run(caller.Context(ctx), c.Args, e)
}

// runFor carries out the command line of a client in the background kernel. hold returns the workspace of a session,
// which the kernel holds.
func runFor(ctx context.Context, e Env, home string, in CommandRequest, s Streams, hold func(context.Context, *session.Session) (*session.Workspace, error)) int {
	variables := map[string]string{}
	for _, pair := range in.Environ {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	variables["RAMET_HOME"] = home
	e.Streams, e.Background, e.Screen, e.Pick = s, Background{}, nil, nil
	e.Servers.Elsewhere = nil
	e.System.Dir, e.System.Getenv = in.Dir, func(name string) string { return variables[name] }
	e.System.Environ = func() []string { return in.Environ }
	e.System.Umask = func() string { return in.Umask }
	e.System.Agent = nil
	client := session.ClientEnvironment(session.New(e.System, session.Choice{}))
	e.System.Hold = func(ctx context.Context, s *session.Session) (*session.Workspace, error) {
		w, err := hold(ctx, s)
		if err == nil {
			w.Models().For(client).HideKeys() // before anything of the client is written
		}
		return w, err
	}
	return Run(session.WithClient(ctx, client), in.Args, e)
}
