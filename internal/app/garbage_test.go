package app

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// Garbage is collected whatever lives: a heap grows to what costs nothing, then by half.
func TestHowFarAHeapGrows(t *testing.T) {
	for live, want := range map[uint64]uint64{
		0: roomy, 1: roomy, 1 << 20: roomy, 2 << 20: roomy, smallest: roomy, roomy / 2: roomy, roomy - 1: roomy * 3 / 2,
		roomy: roomy * 3 / 2, roomy + 1: roomy*3/2 + 1, 20 * roomy: 30 * roomy, 1 << 40: 3 << 39,
	} {
		for _, k := range []uint64{1, served / roomy} { // all of it so many times
			live, want := live*k, want*k
			percent := uint64(growth(live, roomy*k))
			got := max(live+live*percent/100, smallest*percent/100)
			if percent < 50 || percent > 1<<20 || got > want+smallest || got < want-want/8 { // the runtime keeps it in 32 bits
				t.Errorf("%d bytes live: at %d (%d percent), want %d", live, got, percent, want)
			}
		}
	}
}

// The runtime agrees: its smallest heap grows with the share, too.
func TestASmallHeapIsCollectedWhenItIsRoomy(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(growth(1<<20, roomy)))
	runtime.GC()
	read := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(read)
	goal, live := read[0].Value.Uint64(), read[1].Value.Uint64()
	if goal > roomy+9*live {
		t.Errorf("with %d bytes live garbage is collected at %d", live, goal)
	}
}
