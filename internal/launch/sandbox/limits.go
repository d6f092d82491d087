package sandbox

import (
	"fmt"
	"runtime"
)

// Limits bound what a confined command uses; what is zero has its default.
type Limits struct {
	Processes int   // and threads, together: 2048, or 128 for each processor
	Memory    int64 // bytes in use: three quarters of what the machine has
	FileSize  int64 // bytes of one file: 16 GiB
}

// filled has the defaults. A build with a compiler for each processor stays far below
// them, and so does an installation of packages; a loop that forks does not.
func (l Limits) filled() Limits {
	if l.Processes <= 0 {
		l.Processes = max(2048, 128*runtime.NumCPU())
	}
	if l.Memory <= 0 {
		l.Memory = max(machineMemory()/4*3, 1<<30)
	}
	if l.FileSize <= 0 {
		l.FileSize = 16 << 30
	}
	return l
}

// Part returns a part of what one command may use, for several that run at a time.
func (l Limits) Part(of int) Limits {
	l = l.filled()
	l.Processes, l.Memory = max(64, l.Processes/of), max(256<<20, l.Memory/int64(of))
	return l
}

// String says them for people.
func (l Limits) String() string {
	return fmt.Sprintf("%d processes, %s of memory, %s for a file", l.Processes, bytesOf(l.Memory), bytesOf(l.FileSize))
}

func bytesOf(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.3g GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}

// DescribeLimits describes what bounds confined commands here, and how.
func DescribeLimits() string { return Limits{}.filled().String() + limitsHow() }
