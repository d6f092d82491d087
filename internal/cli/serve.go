package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/durable"
	"ramet/internal/fault"
	"ramet/internal/httpapi"
	"ramet/internal/ledger/file"
	"ramet/internal/printer"
	"ramet/internal/rundir"
	"ramet/internal/text"
)

// ServeRequest is a server of the HTTP API, with a kernel of its own.
type ServeRequest struct {
	Kernel   KernelRequest
	Runs     *rundir.Store
	Ledger   *file.Folder
	Listener net.Listener
	Token    httpapi.Token
	Hosts    []string
	Ready    func(login string) // it answers; login is the way to the page
}

// defaultAddr is where the API is, unless the user says otherwise.
const defaultAddr = "127.0.0.1:8765"

func (s *session) serveCommand() *cobra.Command {
	var addr string
	var hosts []string
	var remote, background bool
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API and the page, and keep agents alive",
		Long: `Serve the HTTP API, the page and the telemetry of this workspace on loopback, and run
its agents: what terminals and scripts ask of them goes to this kernel, and goes on when
they leave. It ends with Ctrl-C; --background leaves it running.

Every route but /health needs the token in $RAMET_HOME/token; ` + "`ramet web`" + ` prints a link to the
page that works once. An address that others can reach needs --allow-remote, and the names
they use, --host NAME.

` + exitHelp(),
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, h := range hosts {
				if err := httpapi.CheckHost(h); err != nil {
					return err
				}
			}
			if there, err := s.background(c, &carryFlags{detached: background}); there {
				return err
			}
			return s.serve(c.Context(), f, addr, hosts, remote)
		},
	}
	c.Flags().StringVar(&addr, "addr", defaultAddr, "where to listen, HOST:PORT; port 0 takes a free one")
	c.Flags().StringSliceVar(&hosts, "host", nil, "a name by which it is reached, besides those of loopback; repeats")
	c.Flags().BoolVar(&remote, "allow-remote", false, "also listen where other machines can reach it; traffic is not encrypted")
	c.Flags().BoolVar(&background, "background", false, "go on in the background when it answers")
	return c
}

func (s *session) serve(ctx context.Context, f *runFlags, addr string, hosts []string, remote bool) error {
	l, err := httpapi.Listen(ctx, addr, remote)
	if err != nil {
		return err
	}
	defer l.Close() // Serve has closed it, unless something went wrong before
	home, err := s.homeDir()
	if err != nil {
		return err
	}
	request := ServeRequest{Listener: l, Hosts: hosts}
	if request.Token, err = httpapi.OpenToken(home); err != nil {
		return err
	}
	if request.Runs, err = s.runs(f); err != nil {
		return err
	}
	request.Kernel.Warn = func(line string) { fmt.Fprintln(s.Stderr, text.Line(line, 400)) }
	if request.Kernel, err = s.kernelRequest(ctx, request.Kernel); err != nil {
		return err
	}
	request.Ledger = file.At(filepath.Join(request.Kernel.Place.Project, ".ramet"), file.Options{Now: s.Now})
	base := httpapi.URL(l.Addr())
	request.Ready = func(login string) {
		// For `ramet web`; without it, it needs --addr.
		if err := durable.WriteFile(filepath.Join(home, addressFile), []byte(l.Addr().String()+"\n"), 0o600); err != nil {
			request.Kernel.Warn(err.Error())
		}
		fmt.Fprintf(s.Stdout, "%s\n", base)
		fmt.Fprintf(s.Stderr, "the page, once and for two minutes: %s%s\n`ramet web` gives another link\n", base, login)
		if s.Leave != nil {
			s.Leave(0)
		}
	}
	return s.Serve(ctx, request)
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

func (s *session) webCommand() *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use:   "web",
		Short: "Print a link to the page of a running server; it works once",
		Args:  arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			home, err := s.homeDir()
			if err != nil {
				return err
			}
			token, err := httpapi.ReadToken(home)
			if err != nil {
				return err
			}
			if addr == "" {
				addr = lastAddress(home)
			}
			link, err := httpapi.AskLogin(c.Context(), "http://"+addr, token)
			if fault.Is(err, fault.NotFound) {
				return fault.New(fault.NotFound, "nobody answers at %s", addr).WithHint("start it with `ramet serve`, or `ramet serve --background`")
			}
			if err != nil {
				return err
			}
			return s.print(webLink{link, s.Now().Add(2 * time.Minute).UTC()})
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
