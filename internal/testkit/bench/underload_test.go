package bench

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/kernel"
	"ramet/internal/model/llm"
)

// streamer is a model that writes a word every 20 ms to whoever is told to stream, until the
// turn is ended; others get an answer at once, and the time at which it was asked for them is
// told.
type streamer struct {
	asked chan time.Time
	began sync.WaitGroup // streams that write
}

func (m *streamer) provide(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
	if r.Messages[len(r.Messages)-1].Text() != "Stream." {
		m.asked <- time.Now()
		return says("Here.")
	}
	return func(yield func(llm.Event) bool) {
		if !yield(llm.Event{Type: llm.Sent, Sent: llm.Bytes{Path: "/stream"}}) {
			return
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			if !yield(llm.Event{Type: llm.TextDelta, Text: fmt.Sprintf("word%d ", n)}) {
				return
			}
			if n == 0 {
				m.began.Done()
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

// While two hundred of a thousand agents write, a prompt reaches its model and a working agent
// is forked without anybody noticing.
func BenchmarkUnderLoad(b *testing.B) {
	onBoth(b, func(b *testing.B, e engine) {
		s, _ := e.make(b)
		model := &streamer{asked: make(chan time.Time, 1)}
		k := start(b, ports(s, llm.Func(model.provide)))
		agents := make([]id.Agent, 0, max(20, scaled(1000)))
		for _, a := range fork(b, s, child(b, s), cap(agents), nameless) {
			agents = append(agents, a.ID)
		}
		streams := max(4, scaled(200))
		writing, idle := agents[:streams], agents[streams:]
		stop := stream(b, k, model, writing)
		defer stop()
		var prompts, forks times
		n := 0
		for b.Loop() {
			for range max(5, scaled(300)) {
				prompts = append(prompts, prompted(b, k, model, idle[n%len(idle)]))
				forks.of(func() { forkedBusy(b, k, writing[n%len(writing)]) })
				n++
			}
		}
		const ms = 1e6
		atMost(b, e.name+": prompt until its model is asked, 200 streams, p99", "ms", prompts.at(0.99)/ms, 100)
		atMost(b, e.name+": fork of an agent that writes, 200 streams, p99", "ms", forks.at(0.99)/ms, 50)
		shown(b, e.name+": prompt until its model is asked, 200 streams, median", "ms", prompts.at(0.5)/ms)
		shown(b, e.name+": fork of an agent that writes, 200 streams, median", "ms", forks.at(0.5)/ms)
	})
}

// stream has agents write until stop.
func stream(b *testing.B, k *kernel.Kernel, m *streamer, agents []id.Agent) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	m.began.Add(len(agents))
	var turns []*kernel.Turn
	for _, a := range agents {
		turns = append(turns, must[*kernel.Turn](b)(k.Exec(ctx, a, kernel.Prompt{Text: "Stream."})))
	}
	m.began.Wait()
	return func() {
		cancel()
		for _, t := range turns {
			t.Wait() // interrupted
		}
	}
}

// prompted is how long it takes from a prompt until the model is asked.
func prompted(b *testing.B, k *kernel.Kernel, m *streamer, a id.Agent) time.Duration {
	b.Helper()
	begin := time.Now()
	t := must[*kernel.Turn](b)(k.Exec(b.Context(), a, kernel.Prompt{Text: "Are you there?"}))
	took := (<-m.asked).Sub(begin)
	_, err := t.Wait()
	check(b, err)
	return took
}

// forkedBusy forks an agent in the middle of its turn.
func forkedBusy(b *testing.B, k *kernel.Kernel, a id.Agent) {
	b.Helper()
	f := registry.Fork{Parent: a, Claim: agent.Passing(), Children: []registry.Child{{ID: id.NewAgent()}}}
	must[[]agent.Agent](b)(k.Fork(b.Context(), f, ""))
}
