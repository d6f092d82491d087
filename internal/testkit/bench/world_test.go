package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ramet/internal/model/catalog"
	"ramet/internal/model/llm"
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
	for _, m := range w.task.play { // repositories are read-only in the sandbox
		for _, c := range m.calls {
			if command, _ := c.args["command"].(string); strings.Contains(command, "git ") {
				args = append(args, "--allow", "bash!("+strings.NewReplacer(`\`, `\\`, "*", `\*`, "(", `\(`, ")", `\)`).Replace(command)+")")
			}
		}
	}
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

// asked is the model that plays; empty: scripted ones do.
var asked = os.Getenv("RAMET_TASKS_MODEL")

func TestTasks(t *testing.T) {
	size := 2_000
	if asked != "" {
		size = 100_000
	}
	var lines []string
	for _, one := range tasks(size) {
		t.Run(strings.ReplaceAll(one.name, " ", "-"), func(t *testing.T) {
			w := settleTasks(t, one)
			testkit.Must(tasksBinary())(t)
			began := time.Now()
			w.work()
			took := time.Since(began)
			bad := one.solved(w)
			steps, tokens, cost := w.spent()
			verdict := "solved"
			if len(bad) > 0 {
				verdict = "NOT solved"
			}
			lines = append(lines, fmt.Sprintf("%-14s %-11s %5d steps %9d tokens  $%8.4f %8.1f s  %s", one.name, verdict, steps, tokens, float64(cost)/1e9, took.Seconds(), one.shows))
			if len(bad) == 0 {
				return
			}
			said := fmt.Sprintf("%s: it is not so that: %s", one.name, strings.Join(bad, "; "))
			if !w.scripted { // a figure about the model, not a fault of ours
				t.Log(said)
				return
			}
			t.Errorf("%s\n%s\n%s", said, strings.Join(w.server.did, "\n"), tail(w.out.String(), 3000))
		})
	}
	t.Log("\n" + strings.Join(lines, "\n"))
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// settleTasks makes the place for a task.
func settleTasks(t *testing.T, one tasksTask) *world {
	t.Helper()
	home := t.TempDir()
	w := &world{T: t, task: one, home: home, dir: filepath.Join(t.TempDir(), "project"), scripted: asked == ""}
	testkit.OK(t, os.MkdirAll(w.dir, 0o755))
	var behind *url.URL
	vendor := "vllm"
	w.model = "vllm/player"
	w.plain = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	if asked != "" {
		w.model, w.plain = asked, os.Environ()
		ref := testkit.Must(llm.ParseRef(asked))(t)
		v := testkit.Must(catalog.Find(ref.Vendor))(t)
		base := testkit.Must(v.URL(os.Getenv(v.BaseVariable())))(t)
		behind = testkit.Must(url.Parse(base))(t)
		vendor = v.KeyOwner()
	}
	var at string
	w.server, at = serve(t, one, behind)
	if behind == nil {
		at += "/v1"
	}
	w.base = strings.ToUpper(vendor) + "_BASE_URL=" + at
	w.git("init", "-q", "-b", "main")
	one.make(w)
	w.git("add", ".")
	w.git("commit", "-q", "--allow-empty", "-m", "as it begins")
	return w
}
