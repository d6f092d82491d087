package operation

import (
	"context"

	"ramet/internal/base/printer"
	"ramet/internal/core/agent"
	"ramet/internal/operation/public"
)

// RenameInput gives an agent a name.
type RenameInput struct {
	Agent AgentRef `json:"agent" arg:"AGENT" slash:"-" help:"the agent to rename"`
	Name  string   `json:"name" arg:"NAME" help:"its new name"`
}

// Check implements Checker.
func (in *RenameInput) Check() error { return At("name", agent.CheckName(in.Name)) }

// Rename renames an agent.
var Rename = Op[RenameInput, public.Agent]{
	Doc: Doc{Name: "rename", Group: "agents", Faces: CLI | Slash, Summary: "Give an agent a name"},
	Run: func(ctx context.Context, e *Env, in RenameInput) (public.Agent, error) {
		a, err := e.Target(ctx, in.Agent)
		if err == nil {
			a, err = e.Workspace.Agents().Rename(ctx, a, in.Name)
		}
		return public.FormatAgent(a), err
	},
	Text: func(w *printer.Writer, in RenameInput, out public.Agent) {
		w.Line("%s is now called %s", out.UUID.Short(), in.Name)
	},
}
