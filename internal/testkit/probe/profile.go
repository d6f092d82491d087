package probe

import (
	"os"
	"runtime/pprof"
)

// profile writes where the processor's time goes, until stop. A file that cannot be made stays away.
func profile(path string) (stop func()) {
	f, err := os.Create(path)
	if err != nil {
		return func() {}
	}
	pprof.StartCPUProfile(f)
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}
}
