package app

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// roomy is the heap below which garbage is not collected. Few commands reach it, so they end
// without having collected any: a collection costs each of them the pages of all that the
// program has as data.
const roomy = 32 << 20

// served is the same in a process that serves others, from its first collection on: hundreds of
// answers that stream through it leave more garbage in a second than lives.
const served = 2 * roomy

// serves says that this process serves others.
var serves atomic.Bool

// spare has garbage collected when the heap is at roomy, then whenever it has grown by half, or is
// at roomy again. Who sets another share meanwhile, as an import does, has it until it is put back.
func spare() {
	mine := most
	debug.SetGCPercent(mine)
	afterEachCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		room := uint64(roomy)
		if serves.Load() {
			room = served
		}
		next := growth(live[0].Value.Uint64(), room)
		if was := debug.SetGCPercent(next); was != mine {
			debug.SetGCPercent(was)
			return
		}
		mine = next
	})
}

// growth is by how many percent a heap of so many living bytes grows until garbage is collected: up to
// room, and by half at least. It is never less: a negative number, which is what a heap larger than
// room would come to, lets no garbage be collected any more. It is never more than takes the smallest
// heap to room: one that is nearly empty would grow to four times as much.
func growth(live, room uint64) int {
	return min(int(100*room/smallest), max(50, int(100*room/max(live, 1))-100))
}

// smallest is the heap at which the runtime collects first, at 100 percent; more percent are as
// much more.
const smallest = 4 << 20

// most is the share that takes the smallest heap to roomy.
const most = 100 * roomy / smallest

// afterEachCollection calls f, until the process ends: an object that nobody has is found by
// each collection, and then there is another.
func afterEachCollection(f func()) {
	type nobodys struct{ _ [16]byte }
	var next func(*nobodys)
	next = func(*nobodys) {
		f()
		runtime.SetFinalizer(new(nobodys), next)
	}
	runtime.SetFinalizer(new(nobodys), next)
}
