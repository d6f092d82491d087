package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ramet/internal/operation/public"
	"ramet/internal/store/sqlite"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// stage is a workspace on which the real binary runs scripted models. Whatever
// ramet starts there bears a mark, by which survivors are found.
type stage struct {
	exe, dir, db, mark string
}

var stages atomic.Int64

// binary is the real one, built once for all tests; see withServer.
func binary(t testing.TB) string {
	t.Helper()
	exe := testkit.Must(built())(t)
	return exe
}

func newStage(t testing.TB, exe string) *stage {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	testkit.OK(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o700))
	// A binary of its own, by which its processes are known.
	own := filepath.Join(filepath.Dir(dir), "ramet")
	testkit.OK(t, os.Link(exe, own))
	s := &stage{exe: own, dir: dir, db: filepath.Join(dir, "ramet.db")}
	s.mark = fmt.Sprintf("RAMET_TEST_MARK=%d.%d", os.Getpid(), stages.Add(1))
	t.Cleanup(func() { // nothing of a test that failed stays behind
		for pid := range s.survivors() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return s
}

// made makes the workspace, and nothing in it.
func (s *stage) made(t *testing.T) {
	t.Helper()
	ws, err := sqlite.Open(t.Context(), s.db, sqlite.Options{Cwd: s.dir})
	if err == nil {
		err = ws.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// script writes a script and gives its name as a model.
func (s *stage) script(t *testing.T, lines ...string) string {
	t.Helper()
	f, err := os.CreateTemp(s.dir, "*.script")
	if err == nil {
		_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return "script/" + f.Name()
}

// pipe makes a gate.
func (s *stage) pipe(t *testing.T) (path string, gate *os.File) {
	t.Helper()
	path = filepath.Join(s.dir, fmt.Sprintf("gate%d", stages.Add(1)))
	return path, pipe(t, path)
}

// pipe makes a named pipe that stays open at both ends until the test is over, so that what is written before somebody
// waits is not lost.
func pipe(t *testing.T, path string) *os.File {
	t.Helper()
	testkit.OK(t, syscall.Mkfifo(path, 0o600))
	f := testkit.Must(os.OpenFile(path, os.O_RDWR, 0))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

func (s *stage) command(args ...string) *exec.Cmd {
	return s.wrapped(nil, args...)
}

// wrapped is a command of ramet under another program.
func (s *stage) wrapped(under []string, args ...string) *exec.Cmd {
	line := append(append(under[:len(under):len(under)], s.exe, "--db", s.db), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = s.dir
	// The mark is for the commands of tools too.
	cmd.Env = append(environment(s.db), "RAMET_TEST_SCRIPTS=1", "GOMAXPROCS=2", s.mark, "RAMET_ENV=RAMET_TEST_MARK")
	return cmd
}

// ramet runs a command to its end.
func (s *stage) ramet(args ...string) outcome {
	if looks(args) {
		return runInside(s.dir, environment(s.db), append([]string{"--db", s.db}, args...)...)
	}
	return outcomeOf(s.command(args...))
}

// must runs a command that must succeed.
func (s *stage) must(t testing.TB, args ...string) string {
	t.Helper()
	out := s.ramet(args...)
	if out.code != 0 {
		t.Fatalf("ramet %s: exit code %d\n%s%s", strings.Join(args, " "), out.code, out.stdout, out.stderr)
	}
	return out.stdout
}

// seen is a line of exec --json.
type seen = public.Line

// running is an exec --json whose output is read as it comes.
type running struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	over   chan struct{} // closed when it has ended and everything was read

	mu    sync.Mutex // guards lines
	lines []seen
	news  chan struct{} // has room for one: there is a new line
}

func (s *stage) exec(t *testing.T, args ...string) *running {
	t.Helper()
	return s.begin(t, s.command(append([]string{"exec", "--json", "--allow", "bash"}, args...)...))
}

func (s *stage) begin(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{cmd: cmd, over: make(chan struct{}), news: make(chan struct{}, 1)}
	cmd.Stderr = &r.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.over)
		for in := bufio.NewReader(out); ; {
			text, err := in.ReadBytes('\n')
			if err != nil {
				break // a line without an end was not acknowledged
			}
			var line seen
			if err := json.Unmarshal(text, &line); err != nil {
				line.Type, line.Text = "not JSON", string(text)
			}
			r.mu.Lock()
			r.lines = append(r.lines, line)
			r.mu.Unlock()
			select {
			case r.news <- struct{}{}:
			default:
			}
		}
		cmd.Wait() // its exit code is looked at by whoever wants it
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGCONT)
		cmd.Process.Kill()
		<-r.over
	})
	return r
}

func (r *running) all() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines[:len(r.lines):len(r.lines)]
}

// until waits for a line that satisfies a condition, and says whether it came.
func (r *running) until(want func(n int, l seen) bool) bool {
	late := time.After(patience)
	for done, over := 0, r.over; ; {
		lines := r.all()
		for ; done < len(lines); done++ {
			if want(done, lines[done]) {
				return true
			}
		}
		select {
		case <-r.news:
		case <-over:
			if over = nil; done == len(r.all()) {
				return false
			}
		case <-late:
			return false
		}
		if over == nil && done == len(r.all()) {
			return false
		}
	}
}

// need is until, for what must come.
func (r *running) need(t *testing.T, what string, want func(l seen) bool) {
	t.Helper()
	if !r.until(func(_ int, l seen) bool { return want(l) }) {
		r.cmd.Process.Kill()
		<-r.over
		t.Fatalf("%s: never; only %s\n%s", what, r.told(), &r.stderr)
	}
}

// prints says that a tool printed something.
func prints(text string) func(seen) bool {
	return func(l seen) bool { return l.Type == "call_output" && strings.Contains(l.Text, text) }
}

func (r *running) told() string {
	var b strings.Builder
	for _, l := range r.all() {
		fmt.Fprintf(&b, "\n  %s %s %q", l.Type, l.Agent.Short(), l.Text)
		if l.Message != nil {
			fmt.Fprintf(&b, " %d %s", l.Message.ID, l.Message.Kind)
		}
		if l.Error != nil {
			fmt.Fprintf(&b, " %s %s", l.Error.Code, l.Error.Message)
		}
	}
	return b.String()
}

// ends waits until it has ended, and says whether it did.
func (r *running) ends() bool {
	select {
	case <-r.over:
		return true
	case <-time.After(patience):
		return false
	}
}

// end is ends, and demands an exit code.
func (r *running) end(t *testing.T, code int) {
	t.Helper()
	if !r.ends() {
		t.Fatalf("it does not end:%s", r.told())
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, not %d:%s\n%s", got, code, r.told(), &r.stderr)
	}
}

// kill ends the process by SIGKILL, and returns when it is gone.
func (r *running) kill() {
	r.cmd.Process.Kill()
	<-r.over
}

// survivors are processes that bear the mark of the stage or run its binary; the
// helpers of ramet have no environment.
func (s *stage) survivors() map[int]string {
	found := map[int]string{}
	dir, err := os.Open("/proc")
	if err != nil {
		return map[int]string{0: err.Error()}
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		env, _ := os.ReadFile("/proc/" + name + "/environ")
		exe, _ := os.Readlink("/proc/" + name + "/exe")
		if exe == s.exe || bytes.Contains(append([]byte{0}, env...), []byte("\x00"+s.mark+"\x00")) {
			line, _ := os.ReadFile("/proc/" + name + "/cmdline")
			found[pid] = string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}
	return found
}

// quiet waits until nothing of the stage runs any more; what is left after that
// time is an error.
func (s *stage) quiet(within time.Duration) error {
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		left := s.survivors()
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("still running: %v", left)
		}
	}
}

// entry is one of log --json.
type entry struct {
	ID    int64  `json:"id"`
	Agent string `json:"agent_uuid"`
	Kind  string `json:"kind"`
	Hash  string `json:"hash"`
	Parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		CallID  string `json:"call_id"`
		IsError bool   `json:"is_error"`
	} `json:"parts"`
	Meta struct {
		Reason string `json:"reason"`
	} `json:"meta"`
}

func (e entry) text() string {
	var b strings.Builder
	for _, p := range e.Parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// history is all that an agent stored.
func (s *stage) history(agent string) ([]entry, error) { return s.log(agent, "--own") }

// log reads what log --json prints.
func (s *stage) log(args ...string) ([]entry, error) {
	out := s.ramet(append([]string{"log", "--json"}, args...)...)
	if out.code != 0 {
		return nil, fmt.Errorf("log: exit code %d: %s", out.code, out.stderr)
	}
	return entries(out.stdout)
}

// entries reads what log --json printed.
func entries(printed string) (all []entry, err error) {
	for d := json.NewDecoder(strings.NewReader(printed)); d.More(); {
		var e entry
		if err := d.Decode(&e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// answered checks that every call has exactly one result, before anything else is
// said.
func answered(all []entry) error {
	open := map[string]bool{}
	for _, e := range all {
		switch e.Kind {
		case "assistant", "user":
			if len(open) > 0 {
				return fmt.Errorf("entry %d, %s: these calls have no result: %v", e.ID, e.Kind, open)
			}
			for _, p := range e.Parts {
				if p.Type == "tool_call" {
					open[p.CallID] = true
				}
			}
		case "tool_result":
			for _, p := range e.Parts {
				if !open[p.CallID] {
					return fmt.Errorf("entry %d: call %s has a result too many", e.ID, p.CallID)
				}
				delete(open, p.CallID)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("these calls have no result: %v", open)
	}
	return nil
}

// code is the fault of the last line.
func (r *running) code() fault.Code {
	all := r.all()
	if len(all) == 0 || all[len(all)-1].Error == nil {
		return ""
	}
	return all[len(all)-1].Error.Code
}
