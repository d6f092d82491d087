package operation

import (
	"context"

	"ramet/internal/operation/public"
)

// ClearInput names an agent.
type ClearInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" slash:"-" help:"whose context"`
}

// Clear empties a context.
var Clear = Op[ClearInput, public.Written]{
	Doc: Doc{Name: "clear", Group: "history", Faces: CLI | Slash, Quiet: true, Summary: "Empty an agent's context; print the entry's id",
		Help: `Empty an agent's context. Nothing is deleted: the clear is an entry, and a wall
behind which no rewind goes. Children that were forked before keep theirs.`},
	Run: func(ctx context.Context, e *Env, in ClearInput) (public.Written, error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return public.Written{}, err
		}
		written, err := e.Workspace.History().Clear(ctx, a)
		return public.FormatWritten(written), err
	},
}
