package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
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

func mcpCommand(l *Line, p MCPPorts) *cobra.Command {
	return parent("mcp", "Add MCP servers for agents, or serve ramet over MCP", `Add MCP servers, whose tools agents then see as SERVER__TOOL. Your own servers are in your
configuration ([mcp.NAME]). Those of a project are in its .mcp.json, which is used once you
have accepted it (ramet trust). A server starts when one of its tools is first called.

Calls need approval, like commands. The rules mcp(SERVER) and mcp(SERVER__TOOL) allow them
as long as your server describes the tool as it did the first time. Rules that you save for a
tool, and all rules for a project's server, include the digest of the tool's description:
mcp(SERVER__TOOL@DIGEST).

ramet is an MCP server too: with "ramet mcp serve", agents of other programs can fork, prompt,
mail and kill agents here. "ramet mcp install" adds it to the configuration of such a program.`, serveMCPCommand(l, p))
}

// tokenVariable holds the token of who asks, where it is another than who started us.
const tokenVariable = "RAMET_TOKEN"

func serveMCPCommand(l *Line, p MCPPorts) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve ramet's tools to another agent, on standard input and output",
		Long: `Serve the Model Context Protocol on standard input and output: the tools ps, fork, prompt,
send, mail, read, wait, log, kill, track, run and verify, and agents, histories and runs
as resources. The client acts as you. If RAMET_TOKEN contains the token of an agent ("ramet
mcp token"), it acts as that agent, which can act on itself and on its subtree.

Agents run in the background kernel, which this command starts. They continue when the
client closes. A call that no rule or mode allows needs approval in a terminal or on the page.

"ramet serve" offers the same tools at /mcp.`,
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
