package operation

import (
	"context"

	"ramet/internal/core/history"
	"ramet/internal/operation/public"
)

// MarkInput marks a point of a history.
type MarkInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" slash:"-" help:"the agent to mark a point of"`
	Label *string  `json:"label,omitempty" arg:"LABEL" help:"what to call it"`
}

// Check implements Checker.
func (in *MarkInput) Check() error { return checkGiven("label", in.Label, history.CheckLabel) }

// Mark marks a point to rewind to.
var Mark = Op[MarkInput, public.Written]{
	Doc: Doc{Name: "mark", Group: "history", Faces: CLI | Slash, Quiet: true, Summary: "Mark a point to rewind to; print its id",
		Help: `Mark a point to rewind to, and record the state of the agent's files there for "ramet rewind --files".`},
	Run: func(ctx context.Context, e *Env, in MarkInput) (public.Written, error) {
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return public.Written{}, err
		}
		written, err := e.Workspace.History().Mark(ctx, a, valueOf(in.Label))
		return public.FormatWritten(written), err
	},
}
