package app_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	mcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"ramet/internal/core/agent"
	"ramet/internal/testkit"
)

// clients are a world and the clients of its kernel that have no screen.
type clients struct {
	*world
	page    *served
	editor  *editor
	toolbox *toolbox
	browser *page // nil: there is no browser here
}

// start returns a command that runs beside the terminals.
func (w *world) start(args ...string) *exec.Cmd {
	cmd := exec.Command(w.exe, args...)
	cmd.Dir, cmd.Env = w.project, w.env
	return cmd
}

// connect starts the editor and the MCP client.
func (c *clients) connect(agent string) {
	c.t.Helper()
	c.toolbox = connect(c.t, &mcp.CommandTransport{Command: c.start("mcp", "serve")})
	c.editor = edit(c.t, c.start("acp"))
	c.editor.Load(acp.SessionId(agent), c.project)
}

// agree waits until every client says that agent 0 has a state.
func (c *clients) agree(word string, screens ...*terminal) {
	c.t.Helper()
	for _, x := range screens {
		if shown := map[string]string{"working": "Esc stops"}[word]; shown != "" {
			x.see(shown)
		} else {
			x.see(" " + word + " ")
		}
	}
	if c.browser != nil {
		c.browser.tell(word)
		c.browser.says(word)
	}
	type row struct{ State struct{ Word string } }
	var last []string
	defer func() {
		if c.t.Failed() {
			c.t.Logf("page, command line and MCP client say %q", last)
		}
	}()
	testkit.WaitUntil(c.t, "page, command line and MCP client say "+word, func() bool {
		var page, line row
		var tool struct{ Agents []row }
		c.page.ask("GET", "/api/v1/agents/0", "", &page)
		err := json.Unmarshal([]byte(c.ramet("show", "0", "--json")), &line)
		answer, refusal := c.toolbox.call("ps", "{}")
		if err = errors.Join(err, json.Unmarshal(answer, &tool)); err != nil || len(tool.Agents) == 0 {
			c.t.Fatal(err, refusal)
		}
		last = []string{page.State.Word, line.State.Word, tool.Agents[0].State.Word}
		return strings.Join(last, " ") == strings.Join([]string{word, word, word}, " ")
	})
}

// The story of one kernel: two terminals, the page, exec, an editor and an MCP client work on one agent at the same time.
// A terminal is closed, the session of the other is cut, the machine sleeps, the kernel is killed, the binary is replaced.
// No turn is lost, no process is left, and every client says the same.
func TestOneKernelManyClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_TEST_LEASE=1s", "RAMET_TEST_PULSE=300ms")
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(w.home, "ramet", "server.log")); t.Failed() {
			t.Logf("the log of the kernel: %s %v", log, err)
		}
	})
	own := filepath.Join(w.home, "bin", "ramet") // of this test alone
	if err := errors.Join(os.Mkdir(filepath.Dir(own), 0o700), os.Link(w.exe, own)); err != nil {
		t.Fatal(err)
	}
	w.exe = own
	gate, open := newGate(t, w, "gate")
	next, openNext := newGate(t, w, "next")
	w.script(`{"when": "think", "steps": [{"text": "a long thought begins"}, {"wait": "`+gate+`"}, {"text": ", and its end"}]}`,
		`{"when": "once more", "repeat": true, "steps": [{"text": "a second one begins"}, {"wait": "`+next+`"}, {"text": ", and ends"}]}`,
		`{"when": "from exec", "steps": [{"text": "exec is answered"}]}`,
		`{"when": "from the editor", "steps": [{"text": "the editor is answered"}]}`,
		`{"when": "from the client", "steps": [{"text": "the client is answered"}]}`,
		`{"when": "from the page", "steps": [{"call": "bash", "args": {"command": "echo made it; echo one > made.txt"}}]}`,
		`{"when": "made it", "steps": [{"text": "it is made"}]}`)

	// Commands that start no kernel leave nothing of one.
	w.ramet("append", "0", "hello")
	if left, err := filepath.Glob(filepath.Join(w.home, "ramet", "server.log*")); err != nil || len(left) > 0 || w.server().Running {
		t.Errorf("append leaves a kernel: %q %v", left, err)
	}
	var zero struct{ UUID string }
	if err := json.Unmarshal([]byte(w.ramet("show", "0", "--json")), &zero); err != nil {
		t.Fatal(err)
	}

	x, y := w.open(130, 24), w.open(130, 24)
	x.see("[0]", "script/")
	y.see("[0]", "script/")
	c := &clients{world: w, page: w.serve()}
	c.connect(zero.UUID)
	t.Run("page", func(sub *testing.T) {
		if _, err := exec.LookPath("chromium"); err != nil {
			sub.Skip("left out: there is no chromium")
		}
		browser(sub) // or it is skipped
		c.browser = openPage(t, "test/states.mjs", w.ramet, "0")
	})
	x.say("think")
	y.see("a long thought")
	c.agree("working", x, y)
	exec := w.start("exec", "from exec")
	var said strings.Builder
	exec.Stdout = &said
	if err := exec.Start(); err != nil {
		t.Fatal(err)
	}

	// A terminal is closed, and the session of the other one is cut.
	x.leave()
	x.see("1 agent still working in the background", "Run `ramet` to see them")
	y.signal(syscall.SIGHUP)
	y.ends()
	c.agree("working")

	// The machine sleeps for longer than a lease.
	kernel, ws := w.server().PID, w.openStore(t.Context())
	syscall.Kill(kernel, syscall.SIGSTOP)
	testkit.WaitUntil(t, "the lease of the stopped kernel expires", func() bool {
		lease := testkit.Must(agent.Find(t.Context(), ws, "0"))(t).Lease
		return lease.Owner != "" && !lease.Live(time.Now())
	})
	ws.Close()
	syscall.Kill(kernel, syscall.SIGCONT)
	c.agree("working")
	open()
	if err := exec.Wait(); err != nil || !strings.Contains(said.String(), "exec is answered") {
		t.Fatalf("exec: %v %s", err, said.String())
	}
	c.editor.Say(acp.SessionId(zero.UUID), "from the editor", acp.StopReasonEndTurn)
	if answer, refusal := c.toolbox.call("prompt", `{"agent": "0", "text": "from the client"}`); !strings.Contains(string(answer), "the client is answered") {
		t.Errorf("%s %s", answer, refusal)
	}

	// The kernel is killed. A terminal connects to the next one, keeps what was typed, and shows what was interrupted.
	z := w.open(130, 24)
	z.see(", and its end", "exec is answered", "the editor is answered", "the client is answered", " idle ")
	z.say("once more")
	z.see("a second one")
	z.press("an unfinished thought")
	w.killServer()
	z.see("Reconnected to the background kernel.")
	z.see("an unfinished thought")
	c.connect(zero.UUID)
	c.agree("interrupted", z)
	openNext()
	w.ramet("exec", "--continue", "0")
	z.see(", and ends", " idle ")

	// The binary is replaced: the kernel and what it starts are the old one.
	later := filepath.Join(w.home, "later")
	w.write(later, "#!/bin/sh\nexit 1\n")
	if err := errors.Join(os.Rename(own, own+".old"), os.Chmod(later, 0o700), os.Rename(later, own)); err != nil {
		t.Fatal(err)
	}
	w.exe = own + ".old"
	if code := c.page.ask("POST", "/api/v1/agents/0/prompt", `{"text": "from the page"}`, new(any)); code != 202 {
		t.Fatalf("the page's prompt: %d", code)
	}
	z.see("wants to run", "an unfinished thought")
	c.agree("asks")
	other := w.open(130, 24)
	other.decide("Allow once")
	z.see("it is made", "an unfinished thought")
	c.agree("idle", z, other)
	if made, err := os.ReadFile(filepath.Join(w.project, "made.txt")); string(made) != "one\n" {
		t.Errorf("%q %v", made, err)
	}

	other.leave()
	z.signal(syscall.SIGHUP)
	z.ends()
	c.editor.In.Close()
	c.toolbox.session.Close()
	w.exe = own
	if err := os.Rename(own+".old", own); err != nil {
		t.Fatal(err)
	}
	w.ramet("server", "stop", "--force")
	testkit.WaitUntil(t, "no process is left", func() bool { return len(w.processes()) == 0 })
	log := w.ramet("log", "0")
	for _, want := range []string{", and its end", "exec is answered", "the editor is answered", "the client is answered", ", and ends", "it is made"} {
		if strings.Count(log, want) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(log, want), want, log)
		}
	}
	w.ramet("verify")
	kernelLog, err := os.ReadFile(filepath.Join(w.home, "ramet", "server.log"))
	if err != nil || strings.Contains(string(kernelLog), "from the") || strings.Contains(string(kernelLog), "once more") {
		t.Errorf("%v, the log of the kernel has prompts:\n%s", err, kernelLog)
	}
}

// processes returns the processes that run a program of this world, or have its home in their environment.
func (w *world) processes() (out []string) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, dir := range all {
		exe, _ := os.Readlink(filepath.Join(dir, "exe"))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if strings.Contains(exe+string(line)+string(environ), w.home) {
			out = append(out, dir+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// newGate makes a pipe for which scripts wait until open is called.
func newGate(t *testing.T, w *world, name string) (path string, open func()) {
	path = filepath.Join(w.home, name)
	f := pipe(t, path)
	return path, func() { testkit.Must(f.WriteString("x"))(t) }
}
