package bench

import (
	"fmt"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
)

// large is the workspace of 1,000,000 messages and 10,000 living agents: one
// with almost all the messages, called many, and 100 leads with 98 workers
// below each, who said a few things themselves.
type large struct {
	engine
	*store.Store
	place string
	many  id.Agent
	last  id.Message // the newest of many
}

func makeLarge(b *testing.B, e engine) large {
	b.Helper()
	s, place := e.make(b)
	zero := must[agent.Agent](b)(s.Zero(b.Context())).ID
	messages, agents := scaled(1_000_000), scaled(10_000)
	leads := max(3, agents/100)

	l := large{engine: e, Store: s, place: place}
	l.many = fork(b, s, zero, 1, func(int) string { return "many" })[0].ID
	made, said := 2, 0
	for i, lead := range fork(b, s, zero, leads, func(i int) string { return fmt.Sprintf("lead-%d", i) }) {
		fill(b, s, lead.ID, 100)
		said += 100
		workers := min(99, agents-made-(leads-i))
		made += 1 + len(fork(b, s, lead.ID, workers, func(k int) string { return fmt.Sprintf("worker-%d.%d", i, k) }))
	}
	fill(b, s, l.many, max(1000, messages-said))
	l.last = must[agent.Agent](b)(s.Agent(b.Context(), l.many)).Head
	b.Logf("%s: made %d agents and %d messages", e.name, made, max(1000, messages-said)+said)
	return l
}

// With a million messages in the workspace, all of them in one context.
func BenchmarkAMillionMessages(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		l := makeLarge(b, e)
		b.Run("Tail", l.tails) // before the forks, whose entries stand at the end
		b.Run("Fork", l.forks)
		if e.name == "SQLite" {
			b.Run("Commands", l.commands)
		}
	})
}

// Fork does not get slower with the length of the history.
func (l large) forks(b *testing.B) {
	small, _ := l.make(b)
	few := child(b, small)
	fill(b, small, few, 10)
	for range scaled(500) { // the first hundreds are slower
		forkOnce(b, small, few)
		forkOnce(b, l.Store, l.many)
	}
	var theirs, ours times
	for b.Loop() {
		for range scaled(500) {
			theirs.of(func() { forkOnce(b, small, few) })
			ours.of(func() { forkOnce(b, l.Store, l.many) })
		}
	}
	atMost(b, l.name+": fork p50 at 1,000,000 messages / at 10", "", ours.at(0.5)/theirs.at(0.5), 1.2)
}

// The last messages of a long history are read without the rest.
func (l large) tails(b *testing.B) {
	small, _ := l.make(b)
	few := child(b, small)
	fill(b, small, few, 1000)
	tail := func(s *store.Store, a id.Agent) func() {
		return func() {
			if got := must[[]history.Entry](b)(history.Tail(b.Context(), s, a, 20)); len(got) != 20 {
				b.Fatalf("read %d messages", len(got))
			}
		}
	}
	var theirs, ours times
	var less, more float64
	for b.Loop() {
		for range 100 {
			theirs.of(tail(small, few))
			ours.of(tail(l.Store, l.many))
		}
		less, more = allocated(tail(small, few)), allocated(tail(l.Store, l.many))
	}
	atMost(b, l.name+": last 20 of 1,000,000 messages / of 1,000, time p50", "", ours.at(0.5)/theirs.at(0.5), 1.5)
	atMost(b, l.name+": last 20 of 1,000,000 messages / of 1,000, bytes allocated", "", more/less, 1.1)
}
