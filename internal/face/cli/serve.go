package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/core/history"
	"ramet/internal/core/trust"
	"ramet/internal/face/acpagent"
	"ramet/internal/kernel"
	"ramet/internal/operation"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
)

// Service gives the background kernel what it needs for the clients of a workspace, in addition to the workspace.
type Service struct {
	Runs *rundir.Store
	Warn func(string)
	// Command carries out a command line in this process and returns what it prints, Begin in
	// a process of its own.
	Command, Begin func(ctx context.Context, args ...string) (string, error)
	User           string
}

// ServeRequest asks the background kernel for the page of a workspace.
type ServeRequest struct {
	OpenRequest
	Addr        string              // where to listen, HOST:PORT; empty: where it listens, or listened last, or the usual address
	Hosts       []string            // names by which it is reached, in addition to those of loopback
	Remote      bool                // the address may be one that other machines can reach
	Keep        string              // KeepClient, KeepKernel, or empty: the page does not keep the kernel
	Environment *kernel.Environment // of the turns that are asked for over HTTP
}

// What keeps the kernel for a page.
const (
	KeepClient = "client" // it stays until the client leaves
	KeepKernel = "kernel" // it stays until it is stopped
)

// Served names the address of the page of a workspace.
type Served struct {
	URL   string    `json:"url"`
	Login string    `json:"login"` // opens the page once
	Until time.Time `json:"until"` // when that ends
}

// ServerPorts start the background kernel and the server of the Agent Client Protocol.
type ServerPorts struct {
	// CheckHost checks a name by which clients reach the server.
	CheckHost func(name string) error
	// Background finds the background kernel of a session's home, whether it runs or not.
	Background func(*session.Session) (BackgroundKernel, error)
	// Elsewhere carries out command lines in the background kernel; nil: this process is that kernel.
	Elsewhere Elsewhere
	// Host is the background kernel, until it ends.
	Host func(context.Context, HostOptions) error
}

func serveHTTPCommand(l *Line, p ServerPorts) *cobra.Command {
	var in ServeRequest
	var background bool
	c := l.command("serve", "Serve the page and the HTTP API until Ctrl-C", `Serve the page, the HTTP API and the telemetry of this project on loopback. The background kernel
does the work ("ramet server --help"): this command starts it, prints the address of the page, and
keeps the kernel running until Ctrl-C. With --background it returns at once, and the kernel runs until
"ramet server stop".

All your projects have the same address, each at its own path /p/KEY. Every route but /health needs the
token in $RAMET_HOME/token; `+"`ramet web`"+` prints a link to the page that works once. To listen on an
address that other machines can reach, give --allow-remote, and the names they use with --host NAME.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		for _, h := range in.Hosts {
			if err := p.CheckHost(h); err != nil {
				return nil, err
			}
		}
		in.Keep = KeepClient
		if background {
			in.Keep = KeepKernel
		}
		printed := ""
		return nil, l.servePage(ctx, p, in, func(out Served) {
			if out.URL == printed {
				l.Note("the background kernel was started again")
				return
			}
			printed = out.URL
			fmt.Fprintf(l.Stdout, "%s\n", out.URL)
			fmt.Fprintf(l.Stderr, "Open in your browser (works once, for two minutes): %s\n`ramet web` gives another link\n", out.Login)
		})
	})
	c.Flags().StringVar(&in.Addr, "addr", "", "where to listen, HOST:PORT; port 0 takes a free one (default 127.0.0.1:8765)")
	c.Flags().StringSliceVar(&in.Hosts, "host", nil, "a host name that clients use, in addition to those of loopback; repeats")
	c.Flags().BoolVar(&in.Remote, "allow-remote", false, "allow addresses that other machines can reach; traffic is not encrypted")
	c.Flags().BoolVar(&background, "background", false, "return once it is ready; the kernel runs until it is stopped")
	return c
}

// servePage asks the background kernel for the page of this project, and calls ready when it answers.
func (l *Line) servePage(ctx context.Context, p ServerPorts, in ServeRequest, ready func(Served)) (err error) {
	if in.OpenRequest, err = NameWorkspace(l.Session); err != nil {
		return err
	}
	in.Environment = session.ClientEnvironment(l.Session)
	if err := l.agreeOnVersion(ctx); err != nil {
		return err
	}
	k, err := p.Background(l.Session)
	if err != nil {
		return err
	}
	return k.Serve(ctx, in, ready)
}

func webCommand(l *Line, p ServerPorts) *cobra.Command {
	var in ServeRequest
	c := l.command("web", "Print a link to the page of this project; it works once", `Print a link that opens the page of this project in a browser. The link works once, for two
minutes. If the background kernel isn't running, it is started; it stays as long as the page
is open.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		return nil, l.servePage(ctx, p, in, func(out Served) {
			l.Print(webLink{out.Login, out.Until})
		})
	})
	c.Flags().StringVar(&in.Addr, "addr", "", "where to listen, HOST:PORT (default: where the page is, or 127.0.0.1:8765)")
	return c
}

type webLink struct {
	URL   string    `json:"url"`
	Until time.Time `json:"until"`
}

func (d webLink) Text(w *printer.Writer) { w.Line("%s", d.URL) }

func acpCommand(l *Line, about func() Version) *cobra.Command {
	return l.command("acp", "Serve as the agent of an editor (Agent Client Protocol)", `Serve the Agent Client Protocol on standard input and output, for editors such as Zed,
JetBrains IDEs and Neovim. A session is an agent in the workspace of the session's folder. A
new one starts with an empty context; any living agent can be loaded, resumed and forked. The
agents are ordinary ones: "ramet ps" and every other command show them. Closing a session stops
its turn and keeps the agent.

In the editor you approve calls that no rule allows, choose mode, model and effort, and see
diffs, plans and thinking. MCP servers that the editor configures are started in the sandbox.
The agents run in the background kernel, which this command starts, and continue when the
editor closes.

In Zed's settings:

  "agent_servers": {"ramet": {"command": "ramet", "args": ["acp"]}}`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		return nil, acpagent.New(acpagent.Options{Version: about().Version, User: l.User(), Dir: l.Dir, Log: l.Note,
			Place: func(dir string) (string, error) {
				place, err := l.Session.In(dir).Place()
				return place.DB, err
			},
			Open: func(ctx context.Context, dir string, k session.Kernel) (*session.Workspace, bool, func(), error) {
				return openAt(ctx, l, dir, k)
			}}).Serve(ctx, l.Stdin, l.Stdout)
	})
}

// openAt opens the workspace of a folder, with a kernel: that of this process, which stays, or one of its own.
func openAt(ctx context.Context, l *Line, dir string, k session.Kernel) (w *session.Workspace, stays bool, closed func(), err error) {
	s := l.Session.In(dir)
	closed = func() {
		if err := s.Close(); err != nil {
			l.Note(err.Error())
		}
	}
	if w, err = s.Open(ctx); err != nil || s.Held() {
		return w, true, closed, err
	}
	k.Attended = true
	if err := w.Start(ctx, k); err != nil {
		closed()
		return nil, false, nil, err
	}
	return w, false, closed, nil
}

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
	return l.command("serve", "Serve ramet's tools to another agent, on standard input and output", `Serve the Model Context Protocol on standard input and output: the tools ps, fork, prompt,
send, mail, read, wait, log, kill, track, run and verify, and agents, histories and runs
as resources. The client acts as you. If RAMET_TOKEN contains the token of an agent ("ramet
mcp token"), it acts as that agent, which can act on itself and on its subtree.

Agents run in the background kernel, which this command starts. They continue when the
client closes. A call that no rule or mode allows needs approval in a terminal or on the page.

"ramet serve" offers the same tools at /mcp.`, 0, 0, func(ctx context.Context, _ []string) (printer.Datum, error) {
		by, err := caller(l)
		if err != nil {
			return nil, err
		}
		runs, err := l.Runs("")
		if err != nil {
			return nil, err
		}
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		if by != "" {
			if _, err := ws.Store.Agent(ctx, by); err != nil {
				return nil, err
			}
		}
		if !l.Held() {
			if err := ws.Start(ctx, session.Kernel{Warn: l.Note}); err != nil {
				return nil, err
			}
			defer ws.Stopped()
		}
		return nil, p.Serve(ctx, MCPService{Workspace: ws, Runs: runs, Begin: BeginMCP(l, p), User: l.User(),
			By: by, In: l.Stdin, Out: l.Stdout, Stays: l.Held()})
	})
}

// caller returns the agent whose token was given, or empty if none was. A command of an agent is that
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

// refuseConfined refuses what a confined command of an agent can't ask of its kernel. Nothing let it out of the sandbox, so
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
