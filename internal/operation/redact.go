package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
)

// RedactInput names a message.
type RedactInput struct {
	Agent AgentRef   `json:"agent" arg:"AGENT" help:"the agent that stores the message"`
	ID    id.Message `json:"id" arg:"ID" help:"of the message"`
}

// Redact deletes the content of a message.
var Redact = Op[RedactInput, Redacted]{
	Doc: Doc{Name: "redact", Group: "proof", Faces: CLI, Effect: Destroys,
		Summary: "Delete the content of a message for good",
		Help: `Delete the content of a message, its salt and its blobs from the database, including free pages and
the write-ahead log, and record that it was deleted. The history still verifies. File contents that
the message's calls wrote, or that a files entry recorded, are deleted from the recorded states and
the trash. Saved outputs of tools that the message quotes are deleted, and the message disappears from
the prompt history of terminals. Copies elsewhere (backups, exports, evidence and cached answers of
runs, archives of a server) are not changed.`},
	Run: func(ctx context.Context, e *Env, in RedactInput) (out Redacted, err error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		return Redacted{a.ID, in.ID}, e.Workspace.History().Redact(ctx, a, in.ID)
	},
	Text: func(w *printer.Writer, _ RedactInput, out Redacted) { w.Line("message %d is redacted", int64(out.ID)) },
}

// Redacted is a message whose content was deleted.
type Redacted struct {
	Agent id.Agent   `json:"agent_uuid"`
	ID    id.Message `json:"id"`
}
