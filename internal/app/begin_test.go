package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds every wait for a condition. It only ends a test that would hang: no machine
// is as slow as that.
const patience = 10 * time.Minute

// begin starts ramet and lets it run. There is one at a time.
func begin(ts *testscript.TestScript, _ bool, args []string) {
	out, err := os.Create(ts.MkAbs("begun"))
	ts.Check(err)
	exe, err := exec.LookPath("ramet")
	ts.Check(err)
	cmd := exec.Command(exe, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), out, out
	for _, name := range []string{"HOME", "RAMET_DB", "PATH", "TMPDIR", "RAMET_TEST_SCRIPTS", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ACPAGENT_STATE"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	before := kernelLocks(ts)
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	*current(ts) = begun{cmd, ended, before}
	go func() {
		cmd.Wait() // its exit code is read by ends
		out.Close()
		close(ended)
	}()
	ts.Defer(func() {
		cmd.Process.Kill()
		<-ended
	})
}

// begun is what a script began.
type begun struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	before []string // the locks of kernels that were there before
}

type begunKey struct{}

func current(ts *testscript.TestScript) *begun { return ts.Value(begunKey{}).(*begun) }

// until waits for a text in what began's output.
func until(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.Now().Add(patience)
	for !strings.Contains(ts.ReadFile("begun"), args[0]) {
		if time.Now().After(deadline) {
			ts.Fatalf("%q was never printed, only:\n%s", args[0], ts.ReadFile("begun"))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// signalIt sends INT, TERM or KILL to what began.
func signalIt(ts *testscript.TestScript, _ bool, args []string) {
	s := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[args[0]]
	ts.Check(current(ts).cmd.Process.Signal(s))
}

// ends waits until what began has ended, and demands its exit code.
func ends(ts *testscript.TestScript, _ bool, args []string) {
	b := current(ts)
	select {
	case <-b.ended:
	case <-time.After(patience):
		ts.Fatalf("it does not end")
	}
	if code := b.cmd.ProcessState.ExitCode(); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code is %d, not %s:\n%s", code, args[0], ts.ReadFile("begun"))
	}
	if args[0] == "-1" {
		waitForLocks(ts)
	}
}

// waitForLocks waits until no process holds the lock of a kernel that was killed: a command
// that the kernel was about to start has it for a moment longer, and until then the kernel
// cannot be known to be dead.
func waitForLocks(ts *testscript.TestScript) {
	held := func(path string) bool {
		probe := flock.New(path)
		defer probe.Close()
		free, err := probe.TryRLock()
		return err == nil && !free && !slices.Contains(current(ts).before, path)
	}
	for end := time.Now().Add(patience); slices.ContainsFunc(kernelLocks(ts), held); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("the lock of the killed kernel is still held")
		}
	}
}

// kernelLocks lists the locks of the kernels in the script's home.
func kernelLocks(ts *testscript.TestScript) []string {
	locks, err := filepath.Glob(filepath.Join(ts.Getenv("DATA"), "kernels", "*", "*.lock"))
	ts.Check(err)
	return locks
}
