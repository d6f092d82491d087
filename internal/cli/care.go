package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"ramet/internal/agent"
	"ramet/internal/id"
	"ramet/internal/printer"
	"ramet/internal/registry"
)

func (s *session) redactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "redact AGENT ID",
		Short: "Delete the content of a message for good",
		Long: `Delete the content of a message, its salt and its blobs from the database, so
that no bytes of it stay in free pages or the write-ahead log, and record that.
The history still verifies; what the message said is gone. Copies elsewhere
(backups, exports, a server's archives) are not reached.`,
		Args:              arguments(2, 2),
		ValidArgsFunction: s.completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := id.ParseMessage(args[1])
			if err != nil {
				return err
			}
			ws, a, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := ws.Redact(c.Context(), a.ID, agent.Passing(), m); err != nil {
				return err
			}
			return s.print(redacted{a.ID, m})
		},
	}
}

// redacted is the datum of redact.
type redacted struct {
	AgentUUID id.Agent   `json:"agent_uuid"`
	ID        id.Message `json:"id"`
}

func (r redacted) Text(w *printer.Writer) { w.Line("message %d is redacted", int64(r.ID)) }

func (s *session) gcCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Drop blobs that no message names",
		Args:  arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			ws, err := s.open(c.Context())
			if err != nil {
				return err
			}
			out, err := ws.GC(c.Context())
			if err != nil {
				return err
			}
			return s.print(swept(out))
		},
	}
}

// swept is the datum of gc.
type swept registry.Swept

func (d swept) Text(w *printer.Writer) {
	w.Line("dropped %s, %d bytes", count(int(d.Blobs), "blob"), d.Bytes)
}

func (s *session) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the workspace into a new file",
		Long: `Copy the workspace, as it is at one moment, into a new SQLite file that opens
with --db FILE, also when the workspace itself is in PostgreSQL. Writers are
not stopped. An existing file is never replaced.`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			path := args[0]
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.Dir, path)
			}
			ws, err := s.open(c.Context())
			if err != nil {
				return err
			}
			if err := ws.Backup(c.Context(), path); err != nil {
				return err
			}
			return s.print(backedUp{path})
		},
	}
}

// backedUp is the datum of backup.
type backedUp struct {
	Path string `json:"path"`
}

func (b backedUp) Text(w *printer.Writer) { w.Line("workspace copied to %s", b.Path) }
