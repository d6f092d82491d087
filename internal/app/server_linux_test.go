package app_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/operation/public"
)

// server asks the background kernel what it does.
func (w *world) server() (out public.BackgroundKernel) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.ramet("server", "status", "--json")), &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// Closing a terminal, in whatever way, does not stop what its agent does, and another terminal shows it.
func TestClosingATerminalStopsNoAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := filepath.Join(w.home, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	w.script(`{"steps": [{"text": "a long thought begins"}, {"wait": "` + gate + `"}, {"text": ", and its end"}]}`)
	x := w.open(130, 24)
	x.see("[0]", "script/")
	x.say("think")
	x.see("a long thought")
	x.leave()
	x.see("1 agent still working in the background", "Run `ramet` to see them")

	y := w.open(90, 24)
	y.see("think", "Esc stops")
	y.signal(syscall.SIGKILL)
	y.ends()
	if n := w.server().Workspaces[0].Working; n != 1 {
		t.Fatalf("%d agents work, not 1", n)
	}
	if err := os.WriteFile(gate, []byte("x"), 0); err != nil { // the model waits for that
		t.Fatal(err)
	}
	z := w.open(90, 24)
	z.see("and its end", " idle ")
	z.leave()
	w.ramet("verify")
}

// A terminal whose kernel is killed connects to a new one, keeps what was typed, and shows what was interrupted.
func TestATerminalOutlivesItsKernel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.open(90, 24)
	x.see("[0]")
	x.say("run sleep 1000")
	x.see("wants to run")
	x.decide("Allow once")
	x.see("runs bash")
	x.press("an unfinished thought")
	first := w.server().PID
	w.killServer()
	x.see("connected to the background kernel again")
	x.see(" interrupted ", "an unfinished thought")
	if second := w.server().PID; second == first || second == 0 {
		t.Errorf("process %d follows %d", second, first)
	}
}

// Twenty commands at once start one kernel. It refuses to stop while an agent works, and leaves nothing when it ends.
func TestOneKernelIsStarted(t *testing.T) {
	t.Parallel()
	runtime := t.TempDir()
	w := newWorld(t, "XDG_RUNTIME_DIR="+runtime)
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { w.ramet("server", "start") })
	}
	all.Wait()
	processes, err := exec.Command("pgrep", "-fc", "server run --home "+w.home).Output()
	if err != nil || strings.TrimSpace(string(processes)) != "1" {
		t.Errorf("%s kernels run: %v", processes, err)
	}
	x := w.open(90, 24)
	x.see("[0]")
	x.say("run sleep 1000")
	x.see("wants to run")
	cmd := exec.Command(w.exe, "server", "stop")
	cmd.Dir, cmd.Env = w.project, w.env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "error[CONFLICT]") || !strings.Contains(string(out), "--force") {
		t.Errorf("it stopped under an agent: %s", out)
	}
	x.signal(syscall.SIGKILL)
	x.ends()
	w.ramet("server", "stop", "--force")
	if now := w.server(); now.Running {
		t.Errorf("it runs: %+v", now)
	}
	if left, err := filepath.Glob(filepath.Join(runtime, "ramet", "*")); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

// A kernel that nothing keeps ends by itself.
func TestAnIdleKernelEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_SERVER_IDLE=1s")
	w.ramet("server", "start")
	eventually(t, "it ends", func() bool { return !w.server().Running })
	log, err := os.ReadFile(filepath.Join(w.home, "ramet", "server.log"))
	if err != nil || !strings.Contains(string(log), "ends: nothing happened for 1s") {
		t.Errorf("the log says %q, %v", log, err)
	}
}

// A command of an agent reaches the user's socket neither as ramet nor by itself, even if nothing confines it.
func TestAnAgentDoesNotReachTheKernel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ramet("server", "start")
	socket := w.server().Socket
	for _, command := range []string{w.exe + " server stop --force", "curl -sS --max-time 20 --unix-socket " + socket + " http://kernel/status"} {
		out := w.ramet("exec", "--allow", "bash!("+command+")", "run "+command)
		if strings.Contains(out, `"running":true`) {
			t.Errorf("%s: %s", command, out)
		}
	}
	if !w.server().Running {
		t.Error("an agent stopped the kernel")
	}
}

// Keys of a client's environment are used for its turns and are not in the environment of the kernel.
func TestKeysComeFromTheClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "OPENAI_API_KEY=sk-client-0123456789abcdef", "OPENAI_BASE_URL=http://127.0.0.1:9")
	w.ramet("server", "start")
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.server().PID), "environ"))
	if err != nil || strings.Contains(string(environ), "sk-client") {
		t.Errorf("the kernel has the key in its environment: %v", err)
	}
	x := w.open(90, 24)
	x.see("[0]", "openai/")
	x.leave()
}
