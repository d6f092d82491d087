package app_test

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// inside says that this process may mount what it likes.
const inside = "RAMET_TEST_MAY_MOUNT"

// A full disk is a small one, mounted where nobody else sees it: the test runs
// itself again in a mount namespace of its own.
func TestScriptsOnASmallDisk(t *testing.T) {
	if os.Getenv(inside) != "" {
		commands["tmpfs"], commands["grow"] = tmpfs, grow
		runScripts(t, "sqlite", "tmpfs")
		return
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []uintptr{syscall.CLONE_NEWNS, syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER} {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestScriptsOnASmallDisk$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
		if flags&syscall.CLONE_NEWUSER != 0 {
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
		}
		out, ran := cmd.CombinedOutput()
		if cmd.Process == nil {
			err = ran // not allowed; the other way may be
			continue
		}
		if ran != nil {
			t.Fatalf("%v\n%s", ran, out)
		}
		return
	}
	t.Fatalf("a small disk needs root, or user namespaces: %v", err)
}

// tmpfs mounts a disk of that size, or gives the one that is there that size.
func tmpfs(ts *testscript.TestScript, _ bool, args []string) {
	dir, options := ts.MkAbs(args[0]), "size="+args[1]
	var here, above syscall.Stat_t
	if syscall.Stat(dir, &here) == nil && syscall.Stat(dir+"/..", &above) == nil && here.Dev != above.Dev {
		ts.Check(syscall.Mount("", dir, "", syscall.MS_REMOUNT, options))
		return
	}
	ts.Check(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(syscall.Mount("tmpfs", dir, "tmpfs", 0, options))
	ts.Defer(func() { syscall.Unmount(dir, 0) })
}

// grow appends to agent 0, 20 kB of noise at a time, until ramet refuses with
// that text, and puts the number of acknowledged messages into GROWN.
func grow(ts *testscript.TestScript, _ bool, args []string) {
	for n := 0; ; n++ {
		noise := make([]byte, 10_000)
		rand.Read(noise)
		err := ts.Exec("ramet", "append", "0", hex.EncodeToString(noise))
		if err == nil && n < 1000 {
			continue
		}
		demand(ts, args[0], silent(ts))
		ts.Setenv("GROWN", strconv.Itoa(n))
		return
	}
}
