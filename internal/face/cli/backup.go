package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"ramet/internal/base/printer"
)

func backupCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the workspace into a new file",
		Long: `Copy the workspace, as it is at one moment, into a new SQLite file that opens
with --db FILE, also when the workspace itself is in PostgreSQL. Writers are
not stopped. An existing file is never replaced.`,
		Args: CheckArguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			path := args[0]
			if !filepath.IsAbs(path) {
				path = filepath.Join(l.Dir, path)
			}
			ws, err := l.Open(c.Context())
			if err != nil {
				return err
			}
			if err := ws.Store.Backup(c.Context(), path); err != nil {
				return err
			}
			return l.Print(backedUp{path})
		},
	}
}

// backedUp is the datum of backup.
type backedUp struct {
	Path string `json:"path"`
}

func (b backedUp) Text(w *printer.Writer) { w.Line("workspace copied to %s", b.Path) }
