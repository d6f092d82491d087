package loop

import (
	"slices"

	"ramet/internal/llm"
)

// group is a message that calls tools, until the results are there.
type group struct {
	message  llm.Message // with ids that nobody else has
	slots    []slot      // one for each call
	nameless []llm.Part  // results that do not say which call they answer
	extras   []llm.Part  // what came with results and is none, such as an image
	after    []llm.Message
}

type slot struct {
	id     string // as the history has it
	call   llm.Part
	result *llm.Part // nil: not there yet
}

// missing lists the slots that nothing fills.
func (g *group) missing() []int {
	var out []int
	for i, s := range g.slots {
		if s.result == nil {
			out = append(out, i)
		}
	}
	return out[min(len(out), len(g.nameless)):]
}

// open lists the calls without a result, as the history has them.
func (g *group) open() []llm.Part {
	var out []llm.Part
	for _, i := range g.missing() {
		call := g.slots[i].call
		call.CallID = g.slots[i].id
		out = append(out, call)
	}
	return out
}

// settled is the messages of a group, whatever is missing in it.
func (g *group) settled() []llm.Message {
	parts := make([]llm.Part, 0, len(g.slots)+len(g.extras))
	nameless := g.nameless
	for _, s := range g.slots {
		switch {
		case s.result != nil:
			parts = append(parts, *s.result)
		case len(nameless) > 0:
			parts = append(parts, s.answered(nameless[0]))
			nameless = nameless[1:]
		default:
			parts = append(parts, llm.Result(s.call, unknownOutcome, true))
		}
	}
	return append([]llm.Message{g.message, {Role: llm.ToolRole, Parts: append(parts, g.extras...)}}, g.after...)
}

func (s slot) answered(p llm.Part) llm.Part { return llm.Result(s.call, p.Text, p.IsError) }

// clone is a group for a fork. Results are never changed, so they are shared.
func (g *group) clone() *group {
	out := *g
	out.slots = slices.Clone(g.slots)
	out.nameless = slices.Clip(g.nameless)
	out.extras = slices.Clip(g.extras)
	out.after = slices.Clip(g.after)
	return &out
}

// unknownOutcome answers a call whose result nobody wrote down.
const unknownOutcome = "interrupted: outcome unknown"
