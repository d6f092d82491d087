package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// Commands use the background kernel if one runs, and agree with its terminals: exec is shown there, what it asks can be
// answered there, it has the exit code and streams that it has alone, and a client that is lost stops nothing.
func TestCommandsAreClientsOfTheKernel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate, _ := newGate(t, w, "gate")
	long := `{"when": "think", "steps": [{"text": "a long thought begins"}, {"wait": "` + gate + `"}, {"text": ", and its end"}]}`
	w.script(long, long,
		`{"when": "make it", "steps": [{"call": "bash", "args": {"command": "echo one > made.txt"}}]}`,
		`{"when": "from a pipe", "steps": [{"text": "I read it"}]}`, `{"repeat": true, "steps": [{"text": "made"}]}`)
	if out := w.ramet("ps"); w.server().Running {
		t.Fatalf("ps started a kernel: %s", out)
	}
	w.ramet("server", "start")
	x := w.open(90, 24)
	x.see("[0]")

	// The answer goes to standard output, standard input is that of the client, and so are folder and exit code.
	cmd := w.start("exec", "-")
	cmd.Stdin = strings.NewReader("from a pipe\n")
	if out, err := cmd.Output(); err != nil || string(out) != "I read it\n" {
		t.Errorf("exec prints %q, %v", out, err)
	}
	x.see("from a pipe", "I read it")
	cmd = w.start("exec", "nobody", "hello")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "error[NOT_FOUND]") {
		t.Errorf("exec of an unknown agent: %v, %s", err, out)
	}

	// A question of exec is shown in the terminal.
	asks := w.start("exec", "make it")
	testkit.OK(t, asks.Start())
	x.see("wants to run")
	if out := w.ramet("ps"); !strings.Contains(out, "asks: ") {
		t.Errorf("ps says %s", out)
	}
	x.decide("Allow once")
	if err := asks.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(w.project, "made.txt")); err != nil {
		t.Error(err)
	}

	// A client that is lost stops nothing; interrupt does, and so does Ctrl-C.
	lost := w.start("exec", "think")
	testkit.OK(t, lost.Start())
	x.see("a long thought")
	testkit.OK(t, lost.Process.Kill())
	lost.Wait() // it was killed
	testkit.WaitUntil(t, "the agent works", func() bool { return w.server().Workspaces[0].Working == 1 })
	w.ramet("interrupt", "0")
	x.see(" interrupted ")
	stopped := w.start("exec", "think")
	testkit.OK(t, stopped.Start())
	testkit.WaitUntil(t, "the agent works", func() bool { return w.server().Workspaces[0].Working == 1 })
	testkit.OK(t, stopped.Process.Signal(syscall.SIGINT))
	if stopped.Wait(); stopped.ProcessState.ExitCode() != 130 {
		t.Errorf("exit code %d after Ctrl-C", stopped.ProcessState.ExitCode())
	}
	testkit.WaitUntil(t, "nothing works", func() bool { return w.server().Workspaces[0].Working == 0 })
	x.leave()
	w.ramet("verify")
}
