package bench

import (
	"context"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/model/offline"
	"ramet/internal/turn/tool"
)

// nod is a tool that does nothing.
type nod struct{}

func (nod) Spec() tool.Spec {
	return tool.Spec{Name: "nod", Description: "Nod.", Args: shape.Object(), Access: tool.Reads}
}

func (nod) Run(context.Context, tool.Call) (tool.Answer, error) {
	return tool.Answer{Text: "nodded"}, nil
}

// Agents that work side by side lose nothing, and a thousand of them take ten times
// as long as a hundred.
func BenchmarkConcurrentTurns(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, place := e.make(b)
		model := must[*offline.ScriptModel](b)(offline.ParseScript(`
{"repeat": true, "when": "Go on.", "steps": [{"call": "nod", "args": {}}, {"usage": {"input": 100, "output": 5}}]}
{"repeat": true, "when": "nodded", "steps": [{"text": "It is done."}, {"usage": {"input": 100, "output": 5}}]}
`, nil))
		o := ports(s, model)
		o.Tools = func(agent.Agent) (tool.Box, error) { return tool.Box{nod{}}, nil }
		k := start(b, o)
		var few, many, bare times
		commit := func() {}
		if e.name == "SQLite" {
			commit = e.bareTurn(b, place)
		}
		hundred, thousand := max(2, scaled(100)), max(20, scaled(1000))
		for b.Loop() {
			crowd := func(n int, took *times) {
				var agents []id.Agent
				for _, a := range fork(b, s, child(b, s), n, nameless) {
					agents = append(agents, a.ID)
				}
				took.of(func() { atOnce(b, k, agents) })
				for _, a := range agents {
					whole(b, s, a)
				}
			}
			crowd(hundred, &few)
			crowd(thousand, &many)
			for range scaled(200) {
				bare.of(commit)
			}
		}
		if r := must[registry.Report](b)(s.Audit(b.Context(), nil)); r.Messages == 0 {
			b.Fatal("nothing was verified")
		}
		each := (many.at(0.5) / float64(thousand)) / (few.at(0.5) / float64(hundred))
		atMost(b, e.name+": time of a turn, 1,000 agents at once / 100 at once", "", each, 1.5)
		shown(b, e.name+": 1,000 agents at once, turns with a call", "/s", float64(thousand)/many.at(0.5)*1e9)
		if e.name == "SQLite" { // a turn with a call needs five
			shown(b, e.name+": time of a turn, 1,000 agents at once / its five bare commits", "", many.at(0.5)/float64(thousand)/(bare.at(0.5)/4*5))
		}
	})
}

// turnOfTwo is what a turn with one call leaves behind the first entry.
var turnOfTwo = []history.Kind{history.Fork, history.User, history.Assistant, history.Usage, history.ToolResult, history.Assistant, history.Usage}

// whole ends the benchmark if an entry is missing.
func whole(b *testing.B, log history.Log, a id.Agent) {
	b.Helper()
	var got []history.Kind
	for e, err := range log.QueryRange(b.Context(), history.Range{Agent: a, End: history.NoLimit}, history.Selection{}) {
		check(b, err)
		got = append(got, e.Kind)
	}
	if len(got) != len(turnOfTwo) {
		b.Fatalf("agent %s has %v", a.Short(), got)
	}
	for i, k := range turnOfTwo {
		if got[i] != k {
			b.Fatalf("agent %s has %v", a.Short(), got)
		}
	}
}
