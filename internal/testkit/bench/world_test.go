package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// world is where a task is worked at: a project, a home of its own, a server.
type world struct {
	*testing.T
	task     tasksTask
	dir      string // the project
	home     string
	model    string
	base     string // the variable of the server's address, and the address
	server   *server
	plain    []string // the environment besides
	out      bytes.Buffer
	scripted bool
}

var tasksBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ramet-tasks-*")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "ramet")
	return file, testkit.BuildRamet(file, "released")
})

func (w *world) put(name, body string) {
	w.Helper()
	file := filepath.Join(w.dir, name)
	testkit.OK(w, os.MkdirAll(filepath.Dir(file), 0o755))
	testkit.OK(w, os.WriteFile(file, []byte(body), 0o755))
}

// has is the content of a file; empty where there is none.
func (w *world) has(name string) string {
	b, _ := os.ReadFile(filepath.Join(w.dir, name))
	return strings.TrimSpace(string(b))
}

func (w *world) git(args ...string) {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=tasks", "-c", "user.email=tasks@example.com"}, args...)...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+w.home)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// command is a ramet in the project.
func (w *world) command(args ...string) *exec.Cmd {
	w.Helper()
	file := testkit.Must(tasksBinary())(w)
	cmd := exec.Command(file, args...)
	cmd.Dir, cmd.Env = w.dir, append(w.plain, "RAMET_HOME="+filepath.Join(w.home, "ramet"), w.base)
	return cmd
}

// ramet runs one to its end, and gives what it printed.
func (w *world) ramet(args ...string) string {
	w.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.Logf("ramet %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// exec is a turn, or the going on with one.
func (w *world) exec(more ...string) *exec.Cmd {
	args := append([]string{"exec", "--json", "--model", w.model, "--timeout", "20m"}, "--allow", "bash", "--allow", "write", "--allow", "edit", "--allow", "fetch")
	cmd := w.command(append(args, more...)...)
	cmd.Stdout, cmd.Stderr = &w.out, os.Stderr
	if w.scripted {
		cmd.Stderr = &w.out
	}
	return cmd
}

// work runs the task.
func (w *world) work() {
	if w.task.run != nil {
		w.task.run(w)
		return
	}
	if err := w.exec(w.task.prompt).Run(); err != nil {
		w.Logf("exec: %v", err)
	}
}

// until waits for a fact.
func (w *world) until(what string, fact func() bool) {
	w.Helper()
	testkit.WaitUntil(w, what, fact)
}

// killed kills a process of ramet as nobody can prevent, and waits for its end.
func killed(cmd *exec.Cmd) {
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
}

// history is the entries of all agents, as text.
func (w *world) history() string {
	var all struct {
		Agents []struct {
			UUID string `json:"uuid"`
		}
	}
	json.Unmarshal([]byte(w.ramet("ps", "--all", "--json")), &all)
	out := ""
	for _, a := range all.Agents {
		out += w.ramet("log", a.UUID, "--own", "--limit", "100000", "--json")
	}
	return out
}

// spent is what the whole task came to.
func (w *world) spent() (steps int, tokens, cost int64) {
	var all struct {
		Agents []struct {
			Spent struct {
				Tokens int64 `json:"tokens"`
				Cost   int64 `json:"cost_nano_usd"`
			} `json:"spent"`
		}
	}
	json.Unmarshal([]byte(w.ramet("ps", "--all", "--json")), &all)
	for _, a := range all.Agents {
		tokens, cost = tokens+a.Spent.Tokens, cost+a.Spent.Cost
	}
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return len(w.server.bodies), tokens, cost
}
