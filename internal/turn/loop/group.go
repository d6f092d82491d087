package loop

import (
	"slices"

	"ramet/internal/model/llm"
)

// group is a message that calls tools, until the results are there.
type group struct {
	message  llm.Message // with ids that nobody else has
	slots    []slot      // one for each call
	results  []llm.Part  // one for each call, as far as they are there
	nameless []llm.Part  // results that do not say which call they answer
	extras   []llm.Part  // what came with results and is none, such as an image
	after    []llm.Message
}

type slot struct {
	id     string // as the history has it
	part   int    // of the message: the call
	filled bool   // its result is there
}

// call returns the call of a slot.
func (g *group) call(slot int) llm.Part { return g.message.Parts[g.slots[slot].part] }

// missing lists the slots that nothing fills.
func (g *group) missing() []int {
	var out []int
	for i := range g.slots {
		if !g.slots[i].filled {
			out = append(out, i)
		}
	}
	return out[min(len(out), len(g.nameless)):]
}

// open lists the calls without a result, as the history has them.
func (g *group) open() []llm.Part {
	var out []llm.Part
	for _, i := range g.missing() {
		call := g.call(i)
		call.CallID = g.slots[i].id
		out = append(out, call)
	}
	return out
}

// fill puts a result into its slot.
func (g *group) fill(slot int, p *llm.Part) {
	g.slots[slot].filled = true
	g.results[slot] = llm.Result(g.call(slot), p.Text, p.IsError)
}

// answer returns the message behind the one that calls, whatever is missing in it.
func (g *group) answer() llm.Message {
	parts, nameless, ours := slices.Clip(g.results), g.nameless, false
	for i := range g.slots {
		if g.slots[i].filled {
			continue
		}
		if !ours { // a result may still come
			parts, ours = append(make([]llm.Part, 0, len(parts)+len(g.extras)), parts...), true
		}
		parts[i] = llm.Result(g.call(i), unknownOutcome, true)
		if len(nameless) > 0 {
			parts[i] = llm.Result(g.call(i), nameless[0].Text, nameless[0].IsError)
			nameless = nameless[1:]
		}
	}
	return llm.Message{Role: llm.ToolRole, Parts: append(parts, g.extras...)}
}

// clone returns a group for a fork.
func (g *group) clone() *group {
	out := *g
	out.slots = slices.Clone(g.slots)
	out.results = slices.Clone(g.results)
	out.nameless = slices.Clip(g.nameless)
	out.extras = slices.Clip(g.extras)
	out.after = slices.Clip(g.after)
	return &out
}

// unknownOutcome answers a call whose result nobody wrote down.
const unknownOutcome = "interrupted: outcome unknown"
