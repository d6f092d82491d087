package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/face/acpagent"
	"ramet/internal/kernel"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
)

// Service gives the background kernel what it needs for the clients of a workspace, in addition to the workspace.
type Service struct {
	Runs   *rundir.Store
	Ledger *ledger.Folder
	Warn   func(string)
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
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page and the HTTP API until Ctrl-C",
		Long: `Serve the page, the HTTP API and the telemetry of this project on loopback. The background kernel
does the work ("ramet server --help"): this command starts it, prints the address of the page, and
keeps the kernel running until Ctrl-C. With --background it returns at once, and the kernel runs until
"ramet server stop".

All your projects have the same address, each at its own path /p/KEY. Every route but /health needs the
token in $RAMET_HOME/token; ` + "`ramet web`" + ` prints a link to the page that works once. To listen on an
address that other machines can reach, give --allow-remote, and the names they use with --host NAME.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, h := range in.Hosts {
				if err := p.CheckHost(h); err != nil {
					return err
				}
			}
			in.Keep = KeepClient
			if background {
				in.Keep = KeepKernel
			}
			printed := ""
			return l.servePage(c.Context(), p, in, func(out Served) {
				if out.URL == printed {
					l.Note("the background kernel was started again")
					return
				}
				printed = out.URL
				fmt.Fprintf(l.Stdout, "%s\n", out.URL)
				fmt.Fprintf(l.Stderr, "Open in your browser (works once, for two minutes): %s\n`ramet web` gives another link\n", out.Login)
			})
		},
	}
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
	c := &cobra.Command{
		Use:   "web",
		Short: "Print a link to the page of this project; it works once",
		Long: `Print a link that opens the page of this project in a browser. The link works once, for two
minutes. If the background kernel isn't running, it is started; it stays as long as the page
is open.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return l.servePage(c.Context(), p, in, func(out Served) {
				l.Print(webLink{out.Login, out.Until})
			})
		},
	}
	c.Flags().StringVar(&in.Addr, "addr", "", "where to listen, HOST:PORT (default: where the page is, or 127.0.0.1:8765)")
	return c
}

type webLink struct {
	URL   string    `json:"url"`
	Until time.Time `json:"until"`
}

func (d webLink) Text(w *printer.Writer) { w.Line("%s", d.URL) }

func acpCommand(l *Line, about func() Version) *cobra.Command {
	return &cobra.Command{
		Use:   "acp",
		Short: "Serve as the agent of an editor (Agent Client Protocol)",
		Long: `Serve the Agent Client Protocol on standard input and output, for editors such as Zed,
JetBrains IDEs and Neovim. A session is an agent in the workspace of the session's folder. A
new one starts with an empty context; any living agent can be loaded, resumed and forked. The
agents are ordinary ones: "ramet ps" and every other command show them. Closing a session stops
its turn and keeps the agent.

In the editor you approve calls that no rule allows, choose mode, model and effort, and see
diffs, plans and thinking. MCP servers that the editor configures are started in the sandbox.
The agents run in the background kernel, which this command starts, and continue when the
editor closes.

In Zed's settings:

  "agent_servers": {"ramet": {"command": "ramet", "args": ["acp"]}}`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return acpagent.New(acpagent.Options{Version: about().Version, User: l.User(), Dir: l.Dir, Log: l.Note,
				Place: func(dir string) (string, error) {
					place, err := l.Session.In(dir).Place()
					return place.DB, err
				},
				Open: func(ctx context.Context, dir string, k session.Kernel) (*session.Workspace, bool, func(), error) {
					return openAt(ctx, l, dir, k)
				}}).Serve(c.Context(), l.Stdin, l.Stdout)
		},
	}
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
