package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
)

func loginCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at an MCP server that is a service",
		Long: `Log in at a service (OAuth, with PKCE). ramet prints an address: open it in your browser, on
this machine, and log in there; the browser comes back to ramet on the loopback. What the
service gives is kept in ramet's home, for this address of this server alone, and is
renewed as long as the service does so. "ramet mcp logout" forgets it.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := l.Person("mcp login"); err != nil {
				return err
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			shape, err := ws.Servers().LoginServer(c.Context(), args[0], func(address string) {
				fmt.Fprintf(l.Stderr, "open this address in your browser:\n%s\n", address)
			})
			if err != nil {
				return err
			}
			return l.Print(login{shape})
		},
	}
}

func logoutCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget a login at an MCP server",
		Args:  CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := l.Person("mcp logout"); err != nil {
				return err
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			shape, err := ws.Servers().LogoutServer(args[0])
			if err != nil {
				return err
			}
			return l.Print(login{shape})
		},
	}
}

// login is the datum of both.
type login struct{ public.ServerLogin }

func (d login) Text(w *printer.Writer) {
	w.Line("%s: %s", d.Server, d.Outcome)
}
