package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
)

// RedactInput names a message.
type RedactInput struct {
	Agent AgentRef   `json:"agent" arg:"AGENT" help:"the agent that has the message"`
	ID    id.Message `json:"id" arg:"ID" help:"of the message"`
}

// Redact deletes the content of a message.
var Redact = Op[RedactInput, Redacted]{
	Doc: Doc{Name: "redact", Group: "proof", Faces: CLI, Effect: Destroys,
		Summary: "Delete the content of a message for good",
		Help: `Delete the content of a message, its salt and its blobs from the database, so
that no bytes of it stay in free pages or the write-ahead log, and record that.
The history still verifies; what the message said is gone. Contents of files that the calls
of the message wrote, or that a files entry brought, are dropped from the states of files and
deleted from the trash; the outputs of tools that it shows in part are removed, and no terminal offers it as a former prompt. Copies elsewhere
(backups, exports, evidence and cached answers of runs, a server's archives) are not reached.`},
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
