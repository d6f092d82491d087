package bench

import (
	"runtime"
	"sync"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/kernel"
	"ramet/internal/store"
)

// The forks of one parent share what they remember of it. Restoring is what the
// first turns of a kernel take beyond the second ones, which find everything in
// memory; the model, and the commits of a turn, are in both.
func BenchmarkRestoreForks(b *testing.B) {
	const forks = 50
	s, place := engines[0].make(b)
	parent := child(b, s)
	discuss(b, s, parent, max(20, scaled(1000)))
	once := start(b, ports(s, instant))
	turn(b, once, parent, "Go on.") // so its last entry is no message, as after every turn
	once.Stop()
	born := func() (children []id.Agent) {
		for _, c := range fork(b, s, parent, forks, nameless) {
			children = append(children, c.ID)
		}
		return children
	}
	var first, second, firstAtOnce, secondAtOnce times
	var memory, memoryAtOnce []float64
	for b.Loop() {
		children := born()
		alone := engines[0].reopen(b, place)
		k := start(b, ports(alone, instant))
		memory = append(memory, restored(func() {
			first.of(func() { oneByOne(b, k, children) })
		}))
		second.of(func() { oneByOne(b, k, children) })
		end(b, k, alone)

		children = born()
		crowd := engines[0].reopen(b, place)
		k = start(b, ports(crowd, instant))
		memoryAtOnce = append(memoryAtOnce, restored(func() {
			firstAtOnce.of(func() { atOnce(b, k, children) })
		}))
		secondAtOnce.of(func() { atOnce(b, k, children) })
		end(b, k, crowd)
	}
	atMost(b, "SQLite: restoring 50 forks of a 1,000-message parent, one by one", "ms", (first.at(0.5)-second.at(0.5))/1e6, 100)
	atMost(b, "SQLite: restoring 50 forks of a 1,000-message parent, all at once", "ms", (firstAtOnce.at(0.5)-secondAtOnce.at(0.5))/1e6, 100)
	shown(b, "SQLite: first turns of these 50 forks, one by one", "ms", first.at(0.5)/1e6)
	shown(b, "SQLite: first turns of these 50 forks, all at once", "ms", firstAtOnce.at(0.5)/1e6)
	shown(b, "memory of 50 restored forks, one by one", "MB", middle(memory)/1e6)
	shown(b, "memory of 50 restored forks, all at once", "MB", middle(memoryAtOnce)/1e6)
}

// restored is how much more is in memory after f.
func restored(f func()) float64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

func end(b *testing.B, k *kernel.Kernel, s *store.Store) {
	b.Helper()
	k.Stop()
	check(b, s.Close())
}

func oneByOne(b *testing.B, k *kernel.Kernel, agents []id.Agent) {
	for _, a := range agents {
		turn(b, k, a, "Go on.")
	}
}

// atOnce lets all of them work side by side.
func atOnce(b *testing.B, k *kernel.Kernel, agents []id.Agent) {
	b.Helper()
	turns := make([]*kernel.Turn, len(agents))
	for i, a := range agents {
		turns[i] = must[*kernel.Turn](b)(k.Exec(b.Context(), a, kernel.Prompt{Text: "Go on."}))
	}
	errs := make([]error, len(turns))
	var waiting sync.WaitGroup
	for i, t := range turns {
		waiting.Go(func() { _, errs[i] = t.Wait() })
	}
	waiting.Wait()
	for _, err := range errs {
		check(b, err)
	}
}
