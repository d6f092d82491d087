package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/llm/dial"
	"ramet/internal/loop"
	"ramet/internal/proc"
	"ramet/internal/registry"
	"ramet/internal/store"
	"ramet/internal/tool"
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
			if !yield(llm.Event{Type: llm.Done, Index: i, Part: p}) {
				return
			}
		}
		if yield(llm.Event{Type: llm.Used, Usage: llm.Usage{Input: 1000, Output: 10}}) {
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
func ports(s proc.Store, p llm.Provider) proc.Options {
	return proc.Options{
		Store: s, Owner: "bench:1:" + string(id.NewAgent()), Guard: allow{},
		Model: func(agent.Agent, llm.Ref) (proc.Model, error) {
			return proc.Model{Ref: llm.Ref{Vendor: "bench", Name: "instant"}, Info: llm.Model{Name: "instant"}, Provider: p}, nil
		},
		Tools:  func(agent.Agent) (tool.Box, error) { return nil, nil },
		System: func(agent.Agent) ([]llm.Message, error) { return proc.System(), nil },
		Gone:   func(string) bool { return false },
		Tell:   func(context.Context, ...registry.Ring) {},
	}
}

// start starts a kernel, which ends with the benchmark.
func start(b *testing.B, o proc.Options) *proc.Kernel {
	b.Helper()
	k := must[*proc.Kernel](b)(proc.Start(b.Context(), o))
	b.Cleanup(k.Stop)
	return k
}

// turn runs one turn, and the tasks that come of it.
func turn(b *testing.B, k *proc.Kernel, a id.Agent, text string) loop.Outcome {
	b.Helper()
	t := must[*proc.Turn](b)(k.Exec(b.Context(), a, proc.Prompt{Text: text}))
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

// bareCommits is what a turn needs at least: four commits of a row, to take the
// lease, to write the prompt, to write the answer, to give the lease back.
func bareCommits(b *testing.B) func() {
	bare := bareSQLite(b, fresh(b))
	_, err := bare.ExecContext(b.Context(), `CREATE TABLE one_row (id BIGINT PRIMARY KEY, content TEXT NOT NULL)`)
	check(b, err)
	insert := must[*sql.Stmt](b)(bare.PrepareContext(b.Context(), `INSERT INTO one_row (id, content) VALUES ($1, $2)`))
	b.Cleanup(func() { insert.Close() })
	n := 0
	return func() {
		for range 4 {
			n++
			_, err := insert.ExecContext(b.Context(), n, line(n))
			check(b, err)
		}
	}
}

// A turn in a running kernel costs little beside the model.
func BenchmarkWarmTurn(b *testing.B) {
	s, _ := engines[0].make(b)
	k := start(b, ports(s, instant))
	commit := bareCommits(b)
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
	atMost(b, "SQLite: warm turn at 1,000 messages, instant model, p50", "ms", ours.at(0.5)/1e6, 5)
	shown(b, "SQLite: warm turn at 1,000 messages, instant model, p99", "ms", ours.at(0.99)/1e6)
	atMost(b, "SQLite: warm turn at 1,000 messages, a server on loopback, beyond its time, p50", "ms", sent.at(0.5)/1e6, 5)
	shown(b, "SQLite: warm turn at 1,000 messages / at 10, p50", "", ours.at(0.5)/short.at(0.5))
	shown(b, "SQLite: warm turn at 1,000 messages / its four bare commits, p50", "", ours.at(0.5)/theirs.at(0.5))
}
