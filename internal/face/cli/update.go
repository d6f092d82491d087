package cli

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/printer"
	"ramet/internal/model/catalog"
)

func updateCommand(l *Line) *cobra.Command {
	var yes bool
	c := l.command("update FILE|URL", "Take a new table of models, after showing what it changes", `Read a table of models from a file or an https address and show what it changes of the
prices, limits and names that ramet knows. With --yes it is stored as models.json in
ramet's home and used from then on; remove that file to go back to the built-in table.
docs/models.md tells the form.`, 1, 1, func(ctx context.Context, args []string) (printer.Datum, error) {
		home, err := l.HomeDir()
		if err != nil {
			return nil, err
		}
		catalog.UseFile(catalog.Path(home))
		text, err := readTable(ctx, args[0])
		if err != nil {
			return nil, err
		}
		u, err := catalog.ParseUpdate(text)
		if err != nil {
			return nil, err
		}
		out := tableChange{Changes: append([]string{}, u.Changes()...), Stored: yes, File: catalog.Path(home)}
		if !yes {
			return out, nil
		}
		if err := durable.MakeFolder(home, 0o700); err != nil {
			return nil, err
		}
		return out, durable.WriteFile(out.File, text, 0o644)
	})
	c.Flags().BoolVarP(&yes, "yes", "y", false, "take it")
	return c
}

// most limits the size of a table.
const mostOfATable = 8 << 20

// readTable reads a file, or what an address gives.
func readTable(ctx context.Context, from string) ([]byte, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme == "" || !strings.Contains(from, "://") {
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, fault.New(fault.NotFound, "read the table: %w", err)
		}
		return text, nil
	}
	local := u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1"
	if u.Scheme != "https" && !(u.Scheme == "http" && local) {
		return nil, fault.New(fault.Usage, "%s:// is no way to read a table", u.Scheme).WithHint("give a file or an https address")
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fault.New(fault.Usage, "read the table: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fault.New(fault.ProviderUnreachable, "read the table: %w", err).WithHint("check the network, or give a file")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fault.New(fault.NotFound, "read the table: %s answers with status %d", u.Host, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostOfATable))
	if err != nil {
		return nil, fault.New(fault.ProviderUnreachable, "read the table: %w", err)
	}
	return text, nil
}

// tableChange is the datum of models update.
type tableChange struct {
	Changes []string `json:"changes"`
	Stored  bool     `json:"stored"`
	File    string   `json:"file"`
}

func (d tableChange) Text(w *printer.Writer) {
	for _, line := range d.Changes {
		w.Line("%s", line)
	}
	switch {
	case len(d.Changes) == 0 && !d.Stored:
		w.Line("nothing would change")
	case d.Stored:
		w.Line("stored as %s", d.File)
	default:
		w.Line("nothing is stored yet: --yes takes it")
	}
}
