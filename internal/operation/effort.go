package operation

import (
	"context"
	"slices"

	"ramet/internal/base/id"
	"ramet/internal/base/printer"
	"ramet/internal/model/llm"
	"ramet/internal/operation/public"
)

// EffortInput shows or chooses an effort.
type EffortInput struct {
	Agent  AgentRef    `json:"agent,omitempty" arg:"AGENT" slash:"-" default:"0" help:"the agent whose effort to show or set"`
	Effort *llm.Effort `json:"effort,omitempty" arg:"EFFORT" help:"reasoning effort"`
}

// SetEffort shows or chooses how hard an agent's model thinks.
var SetEffort = Op[EffortInput, EffortNow]{
	Doc: Doc{Name: "effort", Group: "agents", Faces: CLI | Slash,
		Summary: "Show or choose the reasoning effort of an agent's model",
		Help: `Show or choose the reasoning effort of an agent's model (default: agent 0): none, minimal, low,
medium, high, xhigh, max, or default, which is what ` + "`ramet models`" + ` shows for
the model, or the setting effort. If a model doesn't support a level, it gets the nearest one.

The choice applies from the agent's next turn on, and to children that are forked afterwards.`},
	Run:  setEffort,
	Text: func(w *printer.Writer, _ EffortInput, out EffortNow) { out.write(w) },
}

func setEffort(ctx context.Context, e *Env, in EffortInput) (out EffortNow, err error) {
	a, err := agentOrWord(ctx, e, in.Agent, &in.Effort, llm.Efforts())
	if err != nil {
		return out, err
	}
	if in.Effort != nil {
		if _, err := ParseEffort(string(*in.Effort)); err != nil { // it was given as the agent
			return out, err
		}
		if err := e.Models().SetEffort(ctx, a, *in.Effort); err != nil {
			return out, err
		}
	}
	found, err := e.Models().Effort(ctx, a)
	out = EffortNow{Agent: a.ID, Effort: public.Optional(string(found.Word)), Of: public.Optional(found.Of), From: "model"}
	switch {
	case found.Of != "":
		out.From = "agent"
	case found.Set:
		out.From = "setting"
	}
	return out, err
}

// ParseEffort reads an effort.
func ParseEffort(word string) (llm.Effort, error) {
	if !slices.Contains(llm.Efforts(), word) {
		return "", refuseWord("effort", word, llm.Efforts())
	}
	return llm.Effort(word), nil
}

// EffortNow describes the effort of an agent's model.
type EffortNow struct {
	Agent  id.Agent  `json:"agent_uuid"`
	Effort *string   `json:"effort"` // null: the model is not asked to think
	Of     *id.Agent `json:"of"`     // the agent that it was chosen for; null: none
	From   string    `json:"from"`   // agent, setting or model
}

func (e EffortNow) write(w *printer.Writer) {
	word := "the model is not asked to think"
	if e.Effort != nil {
		word = *e.Effort
	}
	switch {
	case e.From == "setting":
		w.Line("%s (the setting effort)", word)
	case e.Of == nil:
		w.Line("%s (usual for its model)", word)
	case *e.Of != e.Agent:
		w.Line("%s (of %s)", word, e.Of.Short())
	default:
		w.Line("%s", word)
	}
}
