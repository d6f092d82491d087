package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/llm"
	"ramet/internal/nearest"
)

// Box is the tools of one agent, in the order in which models see them.
type Box []Tool

// Offer is the tools as a model is told of them.
func (b Box) Offer() ([]llm.Tool, error) {
	out := make([]llm.Tool, len(b))
	for i, t := range b {
		s := t.Spec()
		schema, err := json.Marshal(s.Args.Schema())
		if err != nil {
			return nil, fmt.Errorf("describe tool %s: %w", s.Name, err)
		}
		out[i] = llm.Tool{Name: s.Name, Description: strings.TrimSpace(s.Description), Schema: schema}
	}
	return out, nil
}

// Find checks a call as the model made it and finds its tool. A call that cannot
// be run is refused with an answer for the model that says why: an unknown name,
// arguments that are no JSON or have not the shape.
func (b Box) Find(call llm.Part) (Tool, Answer, bool) {
	i := slices.IndexFunc(b, func(t Tool) bool { return t.Spec().Name == call.Name })
	if i < 0 {
		names := make([]string, len(b))
		for i, t := range b {
			names[i] = t.Spec().Name
		}
		text := fmt.Sprintf("There is no tool %.60q.", call.Name)
		if near := nearest.Word(call.Name, names); near != "" {
			text += fmt.Sprintf(" Did you mean %q?", near)
		}
		return nil, Failed(text + " The tools are: " + strings.Join(names, ", ") + "."), false
	}
	if call.Malformed != "" {
		return nil, Failed("The arguments are no complete JSON object. Nothing was run; send the call again, whole."), false
	}
	if err := b[i].Spec().Args.Check(call.Args); err != nil {
		return nil, Failed(fmt.Sprintf("The arguments of %s are wrong: %v. Nothing was run.", call.Name, err)), false
	}
	return b[i], Answer{}, true
}
