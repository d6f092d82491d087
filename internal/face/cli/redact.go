package cli

import (
	"github.com/spf13/cobra"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
)

func redactCommand(l *Line) *cobra.Command {
	return &cobra.Command{
		Use:   "redact AGENT ID",
		Short: "Delete the content of a message for good",
		Long: `Delete the content of a message, its salt and its blobs from the database, so
that no bytes of it stay in free pages or the write-ahead log, and record that.
The history still verifies; what the message said is gone. Contents of files that the calls
of the message wrote, or that a files entry brought, are dropped from the states of files and
deleted from the trash; the outputs of tools that it shows in part are removed, and no terminal offers it as a former prompt. Copies elsewhere
(backups, exports, evidence and cached answers of runs, a server's archives) are not reached.`,
		Args:              CheckArguments(2, 2),
		ValidArgsFunction: l.CompleteAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			m, err := id.ParseMessage(args[1])
			if err != nil {
				return err
			}
			ws, a, err := l.Find(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := ws.History().Redact(c.Context(), a, m); err != nil {
				return err
			}
			return l.Print(redacted{a.ID, m})
		},
	}
}

// redacted is the datum of redact.
type redacted struct {
	AgentUUID id.Agent   `json:"agent_uuid"`
	ID        id.Message `json:"id"`
}

func (r redacted) Text(w *printer.Writer) { w.Line("message %d is redacted", int64(r.ID)) }
