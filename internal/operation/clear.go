package operation

import (
	"context"

	"ramet/internal/operation/public"
)

// ClearInput names an agent.
type ClearInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" slash:"-" help:"the agent"`
}

// Clear empties a context.
var Clear = Op[ClearInput, public.Written]{
	Doc: Doc{Name: "clear", Group: "history", Faces: CLI | Slash, Quiet: true, Summary: "Empty an agent's context; print the entry's id",
		Help: `Empty an agent's context. Nothing is deleted: the clear is an entry of the history. You can't
rewind to before it. Children that were forked earlier keep their context.`},
	Run: func(ctx context.Context, e *Env, in ClearInput) (public.Written, error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return public.Written{}, err
		}
		written, err := e.Workspace.History().Clear(ctx, a)
		return public.FormatWritten(written), err
	},
}
