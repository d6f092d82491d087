package operation

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/base/text"
	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
)

// CompactInput chooses a context, and the model that summarizes it.
type CompactInput struct {
	Agent AgentRef `json:"agent,omitempty" arg:"AGENT" default:"0" help:"the agent"`
	Model Model    `json:"model,omitempty" help:"vendor/name of the model that writes the summary"`
}

// Check implements Checker.
func (in *CompactInput) Check() error {
	_, err := in.model()
	return At("model", err)
}

func (in *CompactInput) model() (ref llm.Ref, err error) {
	if in.Model == "" {
		return ref, nil
	}
	return catalog.Parse(string(in.Model))
}

// Compact replaces the older part of a context by a summary.
var Compact = Op[CompactInput, Compacted]{
	Doc: Doc{Name: "compact", Group: "history", Faces: CLI,
		Summary: "Replace the older part of a context with a summary",
		Help: `Replace all but the newest messages of an agent's context (default: agent 0) with a summary
that its model writes. Nothing is lost: the messages stay in the history, and a rewind to
before the compaction undoes it.`},
	Run: func(ctx context.Context, e *Env, in CompactInput) (out Compacted, err error) {
		model, err := in.model()
		if err != nil {
			return out, err
		}
		a, err := e.Target(ctx, in.Agent)
		if err != nil {
			return out, err
		}
		now, err := e.Turns().Compact(ctx, a, model)
		return Compacted{a.ID, a.Total, now.Total}, err
	},
	Text: func(w *printer.Writer, _ CompactInput, out Compacted) {
		w.Line("%s became %s", text.Count(int(out.Before), "message"), text.Count(int(out.After), "message"))
	},
}

// Compacted is a context that was compacted.
type Compacted struct {
	Agent  id.Agent `json:"agent_uuid"`
	Before int64    `json:"messages_before"`
	After  int64    `json:"messages_after"`
}
