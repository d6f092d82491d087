package app

import (
	"runtime"
	"testing"
)

// Runs of one process share the room that is made for them, and the last gives it back.
func TestProcessorsOfRuns(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	was := runtime.GOMAXPROCS(0)
	defer func() { runtime.GOMAXPROCS(was) }()
	runtime.SetDefaultGOMAXPROCS()
	before := runtime.GOMAXPROCS(0)
	one, other := moreProcessors(), moreProcessors()
	more := runtime.GOMAXPROCS(0)
	one()
	still := runtime.GOMAXPROCS(0)
	other()
	if after := runtime.GOMAXPROCS(0); more <= before || still != more || after != before {
		t.Errorf("%d, %d, %d, %d", before, more, still, after)
	}
	t.Setenv("GOMAXPROCS", "1")
	defer moreProcessors()()
	if now := runtime.GOMAXPROCS(0); now != before {
		t.Errorf("%d", now)
	}
}
