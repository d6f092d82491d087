//go:build !linux

package sandbox

// limitsHow: there are no confined commands here.
func limitsHow() string { return "" }

func machineMemory() int64 { return 0 }
