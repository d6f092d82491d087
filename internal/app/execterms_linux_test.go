package app_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// exec runs exec beside the background kernel, which must answer soon.
func (w *world) exec(args ...string) (out string, exit int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.exe, append([]string{"exec"}, args...)...)
	cmd.Dir, cmd.Env = w.project, w.env
	said, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) || ctx.Err() != nil {
		w.t.Fatalf("exec %q: %v\n%s", args, err, said)
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// A question of exec that no person can answer is refused at once in the background kernel too. That a client
// shows it, see TestCommandsAreClientsOfTheKernel.
func TestExecInTheKernelAsksNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(wants("alone", "touch a"), `{"when": "no person can be asked", "steps": [{"text": "then not"}]}`)
	w.ramet("server", "start")
	if out, exit := w.exec("alone"); exit != 7 || !strings.Contains(out, "then not") || !strings.Contains(out, "--allow 'bash(touch a)'") {
		t.Errorf("it ends with %d: %s", exit, out)
	}
}

// exec with permissions, a folder or without tools runs in the background kernel. What it permits ends with it.
func TestExecBringsItsTerms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script(wants("permitted", "echo one > here.txt"), `{"when": "", "steps": [{"text": "it is made"}]}`,
		wants("not any more", "echo two > here.txt"), `{"when": "no person can be asked", "steps": [{"text": "then not"}]}`,
		`{"when": "bare", "steps": [{"text": "I have none"}]}`)
	testkit.OK(t, os.Mkdir(filepath.Join(w.project, "sub"), 0o700))
	w.ramet("server", "start")
	if out, exit := w.exec("--allow", "bash", "--cwd", "sub", "permitted"); exit != 0 || !strings.Contains(out, "it is made") {
		t.Errorf("it ends with %d: %s", exit, out)
	}
	if made, err := os.ReadFile(filepath.Join(w.project, "sub", "here.txt")); string(made) != "one\n" {
		t.Errorf("%q %v", made, err)
	}
	if now := w.server(); len(now.Workspaces) != 1 {
		t.Errorf("it ran in a kernel of its own: %+v", now)
	}
	if out, exit := w.exec("not any more"); exit != 7 {
		t.Errorf("it ends with %d: %s", exit, out)
	}
	if out, exit := w.exec("--no-tools", "bare"); exit != 0 || !strings.Contains(out, "I have none") {
		t.Errorf("it ends with %d: %s", exit, out)
	}
}
