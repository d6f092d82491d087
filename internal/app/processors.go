package app

import (
	"os"
	"runtime"
	"sync"
)

// processors are those that Go uses. Whoever waits for a disk keeps one for as long as the runtime
// does not notice, and a run waits for disks all the time: of two, often none is left for the work.
// So there are half as many again while this process carries runs out, unless somebody set their
// number.
var processors struct {
	sync.Mutex
	runs int // that are being carried out
}

// moreProcessors makes room for a run, until done is called.
func moreProcessors() (done func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	processors.Lock()
	defer processors.Unlock()
	if processors.runs++; processors.runs == 1 {
		n := runtime.GOMAXPROCS(0)
		runtime.GOMAXPROCS(n + (n+1)/2)
	}
	return func() {
		processors.Lock()
		defer processors.Unlock()
		if processors.runs--; processors.runs == 0 {
			runtime.SetDefaultGOMAXPROCS()
		}
	}
}
