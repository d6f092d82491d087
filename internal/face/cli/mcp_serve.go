package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/trust"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
)

// MCPPorts holds the dependencies of ramet as an MCP server.
type MCPPorts struct {
	// Serve serves one client until it closes its side.
	Serve func(context.Context, MCPService) error
	// Again carries out a command line of ramet in a process of its own.
	Again func(ctx context.Context, dir string, args ...string) (string, error)
}

// MCPService is one client of ramet as an MCP server, on standard input and output.
type MCPService struct {
	Workspace *session.Workspace
	Runs      *rundir.Store
	Begin     Command // carries out a command line in a process of its own
	User      string
	By        id.Agent // whose token the client has; empty: the user's
	In        io.Reader
	Out       io.Writer
	Stays     bool // the kernel, and with it what the client began
}

// BeginMCP carries out command lines in processes of their own, on the workspace of l.
func BeginMCP(l *Line, p MCPPorts) func(ctx context.Context, args ...string) (string, error) {
	if p.Again == nil {
		return nil
	}
	return func(ctx context.Context, args ...string) (string, error) {
		var chosen []string
		for _, f := range []struct{ name, value string }{{"db", l.Choice.DB}, {"home", l.Choice.Home}, {"workspace", l.Choice.Workspace}} {
			if f.value != "" {
				chosen = append(chosen, "--"+f.name+"="+f.value)
			}
		}
		return p.Again(ctx, l.Dir, append(chosen, args...)...)
	}
}

// tokenVariable holds the token of who asks, where it is another than who started us.
const tokenVariable = "RAMET_TOKEN"

func serveMCPCommand(l *Line, p MCPPorts) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve ramet's tools to another agent, on standard input and output",
		Long: `Speak the Model Context Protocol on standard input and output: the tools ps, fork, prompt,
send, mail, read, wait, log, kill, track, run and verify, and agents, histories and runs
as resources. Who asks is you, or the agent whose token is in RAMET_TOKEN (see "ramet
mcp token"): that one may act on itself and on those below it.

Agents run in the background kernel, which the command starts: they continue when the
client closes. Calls that no rule or mode permits are asked about in a terminal or on the page.

"ramet serve" offers the same at /mcp.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			by, err := caller(l)
			if err != nil {
				return err
			}
			runs, err := l.Runs("")
			if err != nil {
				return err
			}
			ws, err := l.Open(ctx)
			if err != nil {
				return err
			}
			if by != "" {
				if _, err := ws.Store.Agent(ctx, by); err != nil {
					return err
				}
			}
			if !l.Held() {
				if err := ws.Start(ctx, session.Kernel{Warn: l.Note}); err != nil {
					return err
				}
				defer ws.Stopped()
			}
			return p.Serve(ctx, MCPService{Workspace: ws, Runs: runs, Begin: BeginMCP(l, p), User: l.User(),
				By: by, In: l.Stdin, Out: l.Stdout, Stays: l.Held()})
		},
	}
}

// caller is the agent whose token was given; empty: nobody's. A command of an agent is that
// agent's, whatever token it has.
func caller(l *Line) (id.Agent, error) {
	said := l.Getenv(tokenVariable)
	if l.Person("") != nil || said == "" {
		return "", nil
	}
	home, err := l.HomeDir()
	if err != nil {
		return "", err
	}
	token, err := trust.ReadToken(home)
	if err != nil {
		return "", err
	}
	if token.Is(said) {
		return "", nil
	}
	if a, ok := token.Agent(said); ok {
		return a, nil
	}
	return "", fault.New(fault.Denied, "%s holds no token of this home", tokenVariable).WithHint("`ramet mcp token AGENT` makes one")
}

func tokenCommand(l *Line) *cobra.Command {
	c := l.command("token AGENT", "Print a token by which a program is that agent, over MCP", `Print a token for "ramet mcp serve" (in RAMET_TOKEN) and for /mcp of "ramet serve" (as
bearer): a client that shows it is this agent, may act on the agent and on its subtree, and
sends mail in its name. It opens nothing else. It is good while the agent lives and the
token of ramet's home stays the same.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		_, a, err := l.Find(ctx, args[0])
		if err != nil {
			return nil, err
		}
		home, err := l.HomeDir()
		if err != nil {
			return nil, err
		}
		token, err := trust.OpenToken(home)
		if err != nil {
			return nil, err
		}
		return agentToken{a.ID, token.For(a.ID)}, nil
	})
	c.ValidArgsFunction = l.CompleteAgents(1)
	return c
}

// agentToken is the datum of token.
type agentToken struct {
	Agent id.Agent `json:"agent_uuid"`
	Token string   `json:"token"`
}

func (d agentToken) Text(w *printer.Writer) { w.Line("%s", d.Token) }
