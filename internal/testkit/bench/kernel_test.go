package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/dial"
	"ramet/internal/model/llm"
	"ramet/internal/store"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// instant is a model that answers at once and reads nothing.
var instant = llm.Func(func(context.Context, llm.Request) iter.Seq[llm.Event] { return says("All of it is green now.") })

// says is an answer.
func says(text string) iter.Seq[llm.Event] {
	return plays(llm.Stop, llm.Part{Type: llm.Text, Text: text})
}

// plays is an answer of these parts.
func plays(reason llm.Reason, parts ...llm.Part) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		if !yield(llm.Event{Type: llm.Sent, Sent: llm.Bytes{Path: "/instant"}}) {
			return
		}
		for i, p := range parts {
			if p.Type == llm.Text && !yield(llm.Event{Type: llm.TextDelta, Index: i, Text: p.Text}) {
				return
			}
			if !yield(llm.Event{Type: llm.Done, Index: i, Part: &p}) {
				return
			}
		}
		if yield(llm.Event{Type: llm.Used, Usage: &llm.Usage{Input: 1000, Output: 10}}) {
			yield(llm.Event{Type: llm.Finished, Finish: llm.Finish{Reason: reason}})
		}
	}
}

// allow permits everything.
type allow struct{}

func (allow) Decide(context.Context, tool.Spec, tool.Call) (tool.Grant, *history.Permission, error) {
	return tool.Free, nil, nil
}

// ports are what a kernel stands on here: nothing but the store and a model.
func ports(s kernel.Store, p llm.Provider) kernel.Options {
	return kernel.Options{
		Store: s, Owner: "bench:1:" + string(id.NewAgent()),
		Parts: kernel.Parts{
			Models: kernel.Models{Model: func(agent.Agent, llm.Ref) (kernel.Model, error) {
				return kernel.Model{Ref: llm.Ref{Vendor: "bench", Name: "instant"}, Info: llm.Model{Name: "instant"}, Provider: p}, nil
			}},
			Toolbox: kernel.Toolbox{Tools: func(agent.Agent) (tool.Box, error) { return nil, nil }, Guard: allow{}},
			Prompts: kernel.Prompts{System: func(agent.Agent, tool.Box) ([]llm.Message, string, error) {
				return []llm.Message{llm.Say(llm.System, "Work.")}, "", nil
			}},
		},
		Peers: kernel.Peers{Gone: func(string) bool { return false }, Tell: func(context.Context, ...registry.Ring) {}},
	}
}

// start starts a kernel, which ends with the benchmark.
func start(b *testing.B, o kernel.Options) *kernel.Kernel {
	b.Helper()
	k := must[*kernel.Kernel](b)(kernel.Start(b.Context(), o))
	b.Cleanup(k.Stop)
	return k
}

// turn runs one turn, and the tasks that come of it.
func turn(b *testing.B, k *kernel.Kernel, a id.Agent, text string) loop.Outcome {
	b.Helper()
	t := must[*kernel.Turn](b)(k.Exec(b.Context(), a, kernel.Prompt{Text: text}))
	out := must[loop.Outcome](b)(t.Wait())
	check(b, t.Tasks(b.Context()))
	return out
}

// conversed are messages as a model sees them: a question, a call, its result, an
// answer, and again.
func conversed(b *testing.B, from, n int) []history.Draft {
	b.Helper()
	out := make([]history.Draft, n)
	for i := range out {
		at := from + i
		call := fmt.Sprintf("call_%d", at/4)
		switch at % 4 {
		case 0:
			out[i] = must[history.Draft](b)(history.Say(history.User, line(at)))
		case 1:
			args := must[[]byte](b)(json.Marshal(map[string]string{"command": line(at)}))
			out[i] = history.Draft{Kind: history.Assistant, Parts: []history.Part{{Type: history.ToolCall, CallID: call, Name: "bash", Args: args}}}
		case 2:
			out[i] = history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: call, Name: "bash", Text: line(at)}}}
		default:
			out[i] = must[history.Draft](b)(history.Say(history.Assistant, line(at)))
		}
	}
	return out
}

// discuss appends n messages of a conversation.
func discuss(b *testing.B, s *store.Store, a id.Agent, n int) {
	b.Helper()
	const batch = 5000
	for from := 0; from < n; from += batch {
		_, err := s.Append(b.Context(), a, agent.Passing(), conversed(b, from, min(batch, n-from))...)
		check(b, err)
	}
}

// bareTurn is what a turn needs at least: four commits of a row, to take the
// lease, to write the prompt, to write the answer, to give the lease back.
func (e engine) bareTurn(b *testing.B, place string) func() {
	commit := e.bareCommit(b, place)
	return func() {
		for range 4 {
			commit()
		}
	}
}

// A turn in a running kernel costs little beside the model.
func BenchmarkWarmTurn(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, place := e.make(b)
		k := start(b, ports(s, instant))
		commit := e.bareTurn(b, place)
		server := newVendor(b)
		ref := llm.Ref{Vendor: "anthropic", Name: "bench"}
		wired := start(b, ports(s, must[llm.Provider](b)(dial.Model(ref, dial.Options{Access: dial.Access{Base: server.URL}}))))
		few, many, far := child(b, s), child(b, s), child(b, s)
		discuss(b, s, few, 10)
		for _, a := range []id.Agent{many, far} {
			discuss(b, s, a, max(20, scaled(1000)))
		}
		var theirs, short, ours, sent times
		round := func(n int) {
			for range n {
				theirs.of(commit)
				short.of(func() { turn(b, k, few, "Go on.") })
				ours.of(func() { turn(b, k, many, "Go on.") })
				server.read()
				sent.of(func() { turn(b, wired, far, "Go on.") })
				_, took := server.read()
				sent[len(sent)-1] -= took
			}
		}
		round(scaled(100))
		theirs, short, ours, sent = nil, nil, nil, nil
		for b.Loop() {
			round(scaled(100)) // history grows by 2 messages each time
		}
		warm := e.name + ": warm turn at 1,000 messages"
		if e.name == "SQLite" { // the time of another server is its own
			atMost(b, warm+", instant model, p50", "ms", ours.at(0.5)/1e6, 1)
			atMost(b, warm+", a server on loopback, beyond its time, p50", "ms", sent.at(0.5)/1e6, 5)
		} else {
			shown(b, warm+", instant model, p50", "ms", ours.at(0.5)/1e6)
		}
		shown(b, warm+", instant model, p99", "ms", ours.at(0.99)/1e6)
		shown(b, warm+" / at 10, p50", "", ours.at(0.5)/short.at(0.5))
		shown(b, warm+" / its four bare commits, p50", "", ours.at(0.5)/theirs.at(0.5))
	})
}
