package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/registry"
	"ramet/internal/store"
	"ramet/internal/tool"
)

// forker is a model that forks one child in each turn of a parent; children are
// done at once.
var forker = llm.Func(func(_ context.Context, r llm.Request) iter.Seq[llm.Event] {
	if r.Messages[len(r.Messages)-1].Text() != "Divide." {
		return says("It is done.")
	}
	args, _ := json.Marshal(map[string]string{"prompt": task})
	return plays(llm.ToolCalls, llm.Part{Type: llm.ToolCall, CallID: fmt.Sprintf("fork_%d", len(r.Messages)), Name: "fork", Args: args})
})

const task = "Take the tests of the store, and tell me which are slow."

// stopwatch sees when the turn of an agent is allowed to fork, and when it goes on
// behind that: between the two lies everything that the fork costs it. The time
// within the store is measured apart.
type stopwatch struct {
	*store.Store

	mu    sync.Mutex
	agent id.Agent
	begun time.Time
	whole times // of the call
	inner times // of the transaction in it
}

// Decide implements loop.Guard.
func (w *stopwatch) Decide(_ context.Context, s tool.Spec, c tool.Call) (tool.Grant, *history.Permission, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = time.Now()
	return tool.Free, nil, nil
}

// Fork implements registry.Registry.
func (w *stopwatch) Fork(ctx context.Context, f registry.Fork) ([]agent.Agent, error) {
	begin := time.Now()
	born, err := w.Store.Fork(ctx, f)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inner = append(w.inner, time.Since(begin))
	return born, err
}

// Allowances implements registry.Budgets. A turn asks before each step.
func (w *stopwatch) Allowances(ctx context.Context, a id.Agent) ([]registry.Allowance, error) {
	w.mu.Lock()
	if a == w.agent && !w.begun.IsZero() {
		w.whole = append(w.whole, time.Since(w.begun))
		w.begun = time.Time{}
	}
	w.mu.Unlock()
	return w.Store.Allowances(ctx, a)
}

// A model that forks in the middle of its turn waits no longer than the ground
// floor's fork takes, however long the history is.
func BenchmarkForkInMidTurn(b *testing.B) {
	s, _ := engines[0].make(b)
	var medians []float64
	for _, size := range []struct {
		name     string
		messages int
	}{{"10", 10}, {"100,000", max(20, scaled(100_000))}} {
		b.Run(size.name, func(b *testing.B) {
			w := &stopwatch{Store: s, agent: child(b, s)}
			discuss(b, s, w.agent, size.messages/4*4) // whole exchanges
			twin := child(b, s)
			discuss(b, s, twin, size.messages/4*4)
			o := ports(w, forker)
			o.Guard = w
			k := start(b, o)
			var ground times
			round := func(n int) {
				for range n {
					turn(b, k, w.agent, "Divide.")
					ground.of(func() { check(b, forkAsATool(b, s, twin)) })
				}
			}
			round(scaled(50))
			w.whole, w.inner, ground = nil, nil, nil
			for b.Loop() {
				round(scaled(50))
			}
			if len(w.whole) != len(ground) || len(w.inner) != len(ground) {
				b.Fatalf("saw %d forks and %d calls of %d", len(w.inner), len(w.whole), len(ground))
			}
			title := "SQLite: fork in mid-turn at " + size.name + " messages, "
			atMost(b, title+"transaction / ground floor's, p50", "", w.inner.at(0.5)/ground.at(0.5), 1.2)
			// It reads the parent's row before and the new entries behind, and the child begins.
			shown(b, title+"whole call / ground floor's, p50", "", w.whole.at(0.5)/ground.at(0.5))
			shown(b, title+"whole call, p50", "µs", w.whole.at(0.5)/1e3)
			shown(b, title+"ground floor's fork, p50", "µs", ground.at(0.5)/1e3)
			medians = append(medians, w.whole.at(0.5))
		})
	}
	if len(medians) == 2 {
		atMost(b, "SQLite: fork in mid-turn, whole call, at 100,000 messages / at 10, p50", "", medians[1]/medians[0], 1.2)
	}
}

// forkAsATool forks on the ground floor what the tool would: the same entries.
func forkAsATool(b *testing.B, s *store.Store, parent id.Agent) error {
	result := func(text, show string) history.Draft {
		return history.Draft{Kind: history.ToolResult, Parts: []history.Part{{Type: history.Result, CallID: "fork_1", Name: "fork", Text: text, Show: show}}}
	}
	prompt, err := history.Say(history.User, task)
	if err != nil {
		return err
	}
	_, err = s.Fork(b.Context(), registry.Fork{Parent: parent, Claim: agent.Passing(),
		Entries:  []history.Draft{result(line(200), task)},
		Children: []registry.Child{{ID: id.NewAgent(), Entries: []history.Draft{result(line(300), ""), prompt}}}})
	return err
}
