package ledger

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// began returns when a process of this machine began: BOOT.SPACE.TICKS, the boot, the PID namespace that its number
// belongs to, and the clock ticks since the boot.
func began(pid int) (start string, there bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// The name of the program is in brackets and can hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false // ended, and not waited for
	}
	return here() + fields[19], true
}

// here returns the boot and the namespace of this process.
var here = sync.OnceValue(func() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return string(boot[:min(8, len(boot))]) + "." + strings.Trim(space, "pid:[]") + "."
})

// sameNumbers reports whether the number of a process has the same meaning here as where it was written: in another
// PID namespace of the same boot it does not.
func sameNumbers(start string) bool {
	theirs, ours := strings.Split(start, "."), strings.Split(here(), ".")
	return len(theirs) == 3 && (theirs[0] != ours[0] || theirs[1] == ours[1])
}
