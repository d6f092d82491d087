package kernel

import "testing"

func TestMemoryIsGivenBackOnceAfterTurns(t *testing.T) {
	var spare tidier
	for i, look := range []struct {
		begun int64
		busy  bool
		due   bool
	}{
		{0, false, false}, {0, false, false}, // nothing was done yet
		{3, true, false}, {3, true, false}, // under way
		{3, false, true}, {3, false, false}, // quiet since the last look: once
		{4, false, false}, {5, false, false}, {5, false, true}, {5, false, false}, // short ones between looks
		{6, false, false}, {6, true, false}, {6, false, true},
	} {
		if got := spare.due(look.begun, look.busy); got != look.due {
			t.Errorf("look %d: %+v, got %v", i, look, got)
		}
	}
}
