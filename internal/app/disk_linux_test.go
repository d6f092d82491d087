package app_test

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ramet/internal/testkit"
)

// A full disk is a small one, mounted where nobody else sees it.
func TestScriptsOnASmallDisk(t *testing.T) {
	t.Parallel()
	testkit.MountInside(t, func() {
		commands["tmpfs"], commands["grow"], commands["noise"] = tmpfs, grow, noise
		runScripts(t, "sqlite", scripts(t, "tmpfs"))
	})
}

// tmpfs mounts a disk of that size, or gives the one that is there that size.
func tmpfs(ts *testscript.TestScript, _ bool, args []string) {
	dir, options := ts.MkAbs(args[0]), "size="+args[1]
	var here, above syscall.Stat_t
	if syscall.Stat(dir, &here) == nil && syscall.Stat(dir+"/..", &above) == nil && here.Dev != above.Dev {
		ts.Check(syscall.Mount("", dir, "", syscall.MS_REMOUNT, options))
		return
	}
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(syscall.Mount("tmpfs", dir, "tmpfs", 0, options))
	ts.Defer(func() { syscall.Unmount(dir, 0) })
}

// grow appends to agent 0, 20 kB of noise at a time, until ramet refuses with
// that text, and puts the number of acknowledged messages into GROWN.
func grow(ts *testscript.TestScript, _ bool, args []string) {
	for n := 0; ; n++ {
		err := ts.Exec("ramet", "append", "0", randomHex(20_000))
		if err == nil && n < 1000 {
			continue
		}
		demand(ts, args[0], silent(ts))
		ts.Setenv("GROWN", strconv.Itoa(n))
		return
	}
}

// noise puts that many characters into a variable, of which no compression makes less than half.
func noise(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Setenv(args[0], randomHex(n))
}

func randomHex(n int) string {
	b := make([]byte, n/2)
	rand.Read(b)
	return hex.EncodeToString(b)
}
