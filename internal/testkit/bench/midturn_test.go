package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
	"ramet/internal/store"
	"ramet/internal/turn/tool"
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

// divider is an agent that forks in the middle of its turns, and a twin with the same history that forks on
// the ground floor.
type divider struct {
	*stopwatch
	title  string
	kernel *kernel.Kernel
	twin   id.Agent
	ground times
}

func newDivider(b *testing.B, s *store.Store, name string, messages int) *divider {
	b.Helper()
	messages = messages / 4 * 4 // whole exchanges
	d := &divider{stopwatch: &stopwatch{Store: s, agent: child(b, s)}, twin: child(b, s), title: "SQLite: fork in mid-turn at " + name + " messages, "}
	discuss(b, s, d.agent, messages)
	discuss(b, s, d.twin, messages)
	o := ports(d.stopwatch, forker)
	o.Guard = d.stopwatch
	d.kernel = start(b, o)
	return d
}

func (d *divider) divide(b *testing.B) {
	b.Helper()
	turn(b, d.kernel, d.agent, "Divide.")
	d.ground.of(func() { check(b, forkAsATool(b, d.Store, d.twin)) })
}

func (d *divider) show(b *testing.B) {
	b.Helper()
	if len(d.whole) != len(d.ground) || len(d.inner) != len(d.ground) {
		b.Fatalf("saw %d forks and %d calls of %d", len(d.inner), len(d.whole), len(d.ground))
	}
	atMost(b, d.title+"transaction / ground floor's, p50", "", d.inner.at(0.5)/d.ground.at(0.5), 1.2)
	// It reads the parent's row before and the new entries behind, and the child begins.
	shown(b, d.title+"whole call / ground floor's, p50", "", d.whole.at(0.5)/d.ground.at(0.5))
	shown(b, d.title+"whole call, p50", "µs", d.whole.at(0.5)/1e3)
	shown(b, d.title+"ground floor's fork, p50", "µs", d.ground.at(0.5)/1e3)
}

// A model that forks in the middle of its turn waits no longer than the ground
// floor's fork takes, however long the history is. The short and the long one take turns.
func BenchmarkForkInMidTurn(b *testing.B) {
	s, _ := engines[0].make(b)
	short, long := newDivider(b, s, "10", 10), newDivider(b, s, "100,000", max(20, scaled(100_000)))
	rounds := func() {
		for range scaled(50) {
			short.divide(b)
			long.divide(b)
		}
	}
	rounds()
	for _, d := range []*divider{short, long} {
		d.whole, d.inner, d.ground = nil, nil, nil
	}
	for b.Loop() {
		rounds()
	}
	short.show(b)
	long.show(b)
	atMost(b, "SQLite: fork in mid-turn, whole call, at 100,000 messages / at 10, p50", "", long.whole.at(0.5)/short.whole.at(0.5), 1.2)
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
