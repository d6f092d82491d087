//go:build !linux

package sandbox

// limitsHow: there are no confined commands here.
const limitsHow = ""

func machineMemory() int64 { return 0 }
