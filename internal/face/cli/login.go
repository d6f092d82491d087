package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
	"ramet/internal/operation/public"
)

func loginCommand(l *Line) *cobra.Command {
	return l.command("login SERVER", "Log in at an MCP server that is a service", `Log in at a service (OAuth, with PKCE). ramet prints an address: open it in your browser, on
this machine, and log in there; the browser comes back to ramet on the loopback. What the
service gives is kept in ramet's home, for this address of this server alone, and is
renewed as long as the service does so. "ramet mcp logout" forgets it.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		shape, err := ws.Servers().LoginServer(ctx, args[0], func(address string) {
			fmt.Fprintf(l.Stderr, "open this address in your browser:\n%s\n", address)
		})
		return login{shape}, err
	})
}

func logoutCommand(l *Line) *cobra.Command {
	return l.command("logout SERVER", "Forget a login at an MCP server", "", 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		ws, err := l.Open(ctx)
		if err != nil {
			return nil, err
		}
		shape, err := ws.Servers().LogoutServer(args[0])
		return login{shape}, err
	})
}

// login is the datum of both.
type login struct{ public.ServerLogin }

func (d login) Text(w *printer.Writer) {
	w.Line("%s: %s", d.Server, d.Outcome)
}
