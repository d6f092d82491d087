package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/core/trust"
	"ramet/internal/ledger"
	"ramet/internal/operation/session"
	"ramet/internal/run/rundir"
)

// Service is a server of the HTTP API, with a kernel of its own.
type Service struct {
	Runs     *rundir.Store
	Ledger   *ledger.Folder
	Listener net.Listener
	Token    trust.Token
	Hosts    []string
	Warn     func(string)
	// Command carries out a command line in this process and returns what it prints, Begin in
	// a process of its own.
	Command, Begin func(ctx context.Context, args ...string) (string, error)
	User           string
	// Beside lets the server run although the background kernel holds the workspace.
	Beside bool
	// Ready is called once the server answers: at base, with the page at the path login.
	Ready func(base, login string)
}

// ServerPorts start the servers of the HTTP API and of the Agent Client Protocol.
type ServerPorts struct {
	// HTTP serves a workspace until ctx ends.
	HTTP func(context.Context, *session.Workspace, Service) error
	// Listen opens an address, one that other machines can reach only if remote is set.
	Listen func(ctx context.Context, addr string, remote bool) (net.Listener, error)
	// CheckHost checks a name by which clients reach the server.
	CheckHost func(name string) error
	// AskLogin asks a running server for a link to the page that works once.
	AskLogin func(ctx context.Context, base string, token trust.Token) (string, error)
	// Background finds the background kernel of a session's home, whether it runs or not.
	Background func(*session.Session) (BackgroundKernel, error)
	// Elsewhere carries out command lines in the background kernel; nil: this process is that kernel.
	Elsewhere Elsewhere
	// Host is the background kernel, until it ends.
	Host func(context.Context, HostOptions) error
	// ACP serves an editor until it closes its side.
	ACP func(context.Context, ACPService) error
}

// ACPService is an editor on standard input and output, and how its workspaces are opened.
type ACPService struct {
	In        io.Reader
	Out       io.Writer
	User, Dir string
	Log       func(string)
	Place     func(dir string) (string, error)
	Open      func(ctx context.Context, dir string, k session.Kernel) (w *session.Workspace, stays bool, closed func(), err error)
}

// defaultAddr is where the API is, unless the user says otherwise.
const defaultAddr = "127.0.0.1:8765"

func serveHTTPCommand(l *Line, p ServerPorts) *cobra.Command {
	var addr string
	var hosts []string
	var remote, background bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API and the page, and keep agents alive",
		Long: `Serve the HTTP API, the page and the telemetry of this workspace on loopback, and run
its agents: what terminals and scripts ask of them goes to this kernel, and goes on when
they leave. It ends with Ctrl-C; --background leaves it running.

Every route but /health needs the token in $RAMET_HOME/token; ` + "`ramet web`" + ` prints a link to the
page that works once. An address that others can reach needs --allow-remote, and the names
they use, --host NAME.`,
		Args: CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := l.Person("serve"); err != nil { // who has the page answers questions and chooses modes
				return err
			}
			for _, h := range hosts {
				if err := p.CheckHost(h); err != nil {
					return err
				}
			}
			if there, err := l.GoOn(c.Context(), background); there {
				return err
			}
			return serve(l, c.Context(), p, addr, hosts, remote)
		},
	}
	c.Flags().StringVar(&addr, "addr", defaultAddr, "where to listen, HOST:PORT; port 0 takes a free one")
	c.Flags().StringSliceVar(&hosts, "host", nil, "a name by which it is reached, besides those of loopback; repeats")
	c.Flags().BoolVar(&remote, "allow-remote", false, "also listen where other machines can reach it; traffic is not encrypted")
	c.Flags().BoolVar(&background, "background", false, "go on in the background when it answers")
	return c
}

func serve(l *Line, ctx context.Context, p ServerPorts, addr string, hosts []string, remote bool) error {
	listener, err := p.Listen(ctx, addr, remote)
	if err != nil {
		return err
	}
	defer listener.Close() // Serve has closed it, unless something went wrong before
	home, err := l.HomeDir()
	if err != nil {
		return err
	}
	service := Service{Listener: listener, Hosts: hosts, Warn: l.Note, User: l.User()}
	if service.Token, err = trust.OpenToken(home); err != nil {
		return err
	}
	if k, err := p.Background(l.Session); err == nil {
		_, err = k.Status(ctx)
		service.Beside = err == nil
	}
	if service.Runs, err = l.Runs(""); err != nil {
		return err
	}
	ws, err := l.Open(ctx)
	if err != nil {
		return err
	}
	service.Ledger = ledger.FolderAt(filepath.Join(ws.Place.Project, ".ramet"), ledger.FolderOptions{Now: l.Now, Project: ws.Place.Project})
	service.Ready = func(base, login string) {
		// For `ramet web`; without it, it needs --addr.
		if err := durable.WriteFile(filepath.Join(home, addressFile), []byte(listener.Addr().String()+"\n"), 0o600); err != nil {
			l.Note(err.Error())
		}
		fmt.Fprintf(l.Stdout, "%s\n", base)
		fmt.Fprintf(l.Stderr, "the page, once and for two minutes: %s%s\n`ramet web` gives another link\n", base, login)
		if l.Leave != nil {
			l.Leave(0)
		}
	}
	return p.HTTP(ctx, ws, service)
}

// addressFile is where the server that was started last listens.
const addressFile = "address"

// lastAddress is where to look for a server.
func lastAddress(home string) string {
	text, err := os.ReadFile(filepath.Join(home, addressFile))
	if addr := strings.TrimSpace(string(text)); err == nil && addr != "" {
		return addr
	}
	return defaultAddr
}

func webCommand(l *Line, p ServerPorts) *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use:   "web",
		Short: "Print a link to the page of a running server; it works once",
		Args:  CheckArguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := l.Person("web"); err != nil { // the link makes whoever opens it the person
				return err
			}
			home, err := l.HomeDir()
			if err != nil {
				return err
			}
			token, err := trust.ReadToken(home)
			if err != nil {
				return err
			}
			if addr == "" {
				addr = lastAddress(home)
			}
			link, err := p.AskLogin(c.Context(), "http://"+addr, token)
			if fault.Is(err, fault.NotFound) {
				return fault.New(fault.NotFound, "nobody answers at %s", addr).WithHint("start it with `ramet serve`, or `ramet serve --background`")
			}
			if err != nil {
				return err
			}
			return l.Print(webLink{link, l.Now().Add(2 * time.Minute).UTC()})
		},
	}
	c.Flags().StringVar(&addr, "addr", "", "where the server is, HOST:PORT (default: where the last one was started)")
	return c
}

// webLink is the datum of web.
type webLink struct {
	URL   string    `json:"url"`
	Until time.Time `json:"until"`
}

func (d webLink) Text(w *printer.Writer) { w.Line("%s", d.URL) }
