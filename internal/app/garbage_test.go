package app

import "testing"

// Garbage is collected whatever lives: a heap grows to what costs nothing, then by half.
func TestHowFarAHeapGrows(t *testing.T) {
	for live, want := range map[uint64]uint64{
		1 << 20: roomy, 4 << 20: roomy, roomy / 2: roomy, roomy - 1: roomy * 3 / 2, roomy: roomy * 3 / 2, roomy + 1: roomy*3/2 + 1, 20 * roomy: 30 * roomy, 1 << 40: 3 << 39,
	} {
		if got := live + live*uint64(growth(live))/100; growth(live) < 50 || got > want || got < want-want/50 {
			t.Errorf("%d bytes live: at %d (%d percent), want %d", live, got, growth(live), want)
		}
	}
	if g := growth(0); g < 100 || g > 1<<20 { // the runtime keeps it in 32 bits
		t.Error(g)
	}
}
