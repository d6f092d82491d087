package app_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
)

func TestASigkillInMidTurnLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate, open := newGate(t, w, "gate")
	w.script(`{"steps": [{"text": "as I was saying to"}, {"wait": "` + gate + `"}, {"text": " you: I go on"}]}`)
	w.ramet("fork", "0", "--name", "ada")
	x := w.open(80, 24)
	x.see("[0]", "script/")
	x.press(ctrlDown)
	x.see("[ada]")
	x.say("speak")
	x.see("as I was saying")
	x.press("an unfinished thought")
	x.see("an unfinished thought")
	state := filepath.Join(w.home, "ramet", "workspaces")
	x.until("written to disk", func(string) bool {
		found, _ := filepath.Glob(filepath.Join(state, "*", "screen.json"))
		if len(found) != 1 {
			return false
		}
		b, err := os.ReadFile(found[0])
		return err == nil && strings.Contains(string(b), "an unfinished thought")
	})
	w.kept("ada", "as I was saying")
	x.signal(syscall.SIGKILL)
	x.ends()
	w.killServer()

	x = w.open(80, 24)
	x.see("[ada]", "speak", "as I was saying", "interrupted", "Press Enter to resume", "an unfinished thought")
	x.press(ctrlC)
	x.gone("an unfinished thought")
	x.press(enter)
	x.see("Esc stops")
	open()
	x.see("I go on", "idle")
	x.leave()
	w.ramet("verify")
}

// openStore opens the one workspace of the user's home.
func (w *world) openStore(ctx context.Context) *store.Store {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.home, "ramet", "workspaces", "*", "ramet.db"))
	if err != nil || len(found) != 1 {
		w.t.Fatalf("%v %v", found, err)
	}
	return testkit.Must(sqlite.Open(ctx, found[0], sqlite.Options{}))(w.t)
}

// kept waits until what was shown of a reply is on disk.
func (w *world) kept(name, words string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), screenPatience)
	defer cancel()
	ws := w.openStore(ctx)
	defer ws.Close()
	a, err := agent.Find(ctx, ws, name)
	for err == nil {
		var r registry.Reply
		if r, _, err = ws.Reply(ctx, a.ID); strings.Contains(r.Text, words) {
			return
		}
	}
	w.t.Fatalf("the reply of %s was never kept: %v", name, err)
}

func TestHostileOutputNeverReachesTheTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	evil := []string{"\x1b]52;c;ZXZpbA==\x07", "\x1b]0;evil title\x07", "\x1b[2J\x1b[31;1Hmoved", "\x9b31m", "\x1bP+q544e\x1b\\", "\u202etxt.exe", "\xff\xfe", "\x1b[?1049l", "\x1bc"}
	w.write("evil.txt", strings.Join(evil, "\n")+"\nthe end of evil\n")
	x := w.open(80, 24)
	x.see("[0]", "offline")
	x.say("!cat evil.txt")
	x.see("the end of evil")
	x.say("read evil.txt")
	x.see("[offline model]", "idle")
	x.press(ctrlO)
	x.see("the end of evil")
	x.say("!printf 'x%.0s' $(seq 1 50000)")
	x.see("xxxxxxx")
	x.press("\x1b[200~" + "pasted \x1b]52;c;ZXZpbA==\x07 text" + "\x1b[201~")
	x.see("pasted")
	// Ctrl-C would stop the command or empty the prompt, as the command has ended or not.
	x.signal(syscall.SIGTERM)
	if code := x.ends(); code != 130 {
		t.Errorf("it ended with %d", code)
	}
	x.restored()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range []string{"\x1b]52;", "evil title\x07", "\x1b]0;evil", "\x1b[31;1Hmoved", "\u202e", "\x1bP+q544e", "\x1bc"} {
		if strings.Contains(x.raw.String(), e) {
			t.Errorf("%q reached the terminal", e)
		}
		testkit.Attack(t, "terminal", e)
	}
}

func TestAForkWaitsForToolsAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_ALLOW=bash")
	gate := pipe(t, filepath.Join(w.project, "gate"))
	x := w.open(80, 24)
	x.see("[0]", "offline")
	x.say("run echo begun; read line < gate; echo went on")
	x.see("begun", "runs bash")
	x.say("/fork --name never")
	x.see("The fork is waiting for running tools")
	x.press(escape)
	x.see("Fork cancelled", "runs bash")
	x.say("/fork --name later")
	x.see("The fork is waiting for running tools")
	testkit.Must(gate.WriteString("x\n"))(t)
	x.see("[later]", "went on")
	x.leaveSure()
	if ps := w.ramet("ps"); strings.Contains(ps, "never") || !strings.Contains(ps, "later") {
		t.Errorf("there are:\n%s", ps)
	}
}

// leaveSure leaves also where agents are at work.
func (t *terminal) leaveSure() {
	t.t.Helper()
	t.press("/exit", enter, down, enter) // it asks if an agent is still working
	if code := t.ends(); code != 0 {
		t.t.Errorf("it ended with %d\n%s", code, t.text())
	}
	t.restored()
}

func TestColoursAreThoseOfTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env string
		never     string
	}{
		{"none", "NO_COLOR=1", `\x1b\[[0-9;]*(3[0-7]|9[0-7]|38|48)[;m]`},
		{"sixteen", "TERM=xterm", `\x1b\[[0-9;]*(38|48);`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.env)
			w.ramet("append", "0", "--kind", "assistant", "# Title\n\nSome `code` and **words**:\n\n```go\nfunc main() { return \"x\" }\n```\n")
			x := w.open(80, 24)
			x.see("[0]", "Title", "func main", "F1 help")
			x.leave()
			x.mu.Lock()
			defer x.mu.Unlock()
			if found := regexp.MustCompile(c.never).Find(x.raw.Bytes()); found != nil {
				t.Errorf("%q was written", found)
			}
		})
	}
}

func TestAWorkspaceThatCannotBeOpenedSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_DB=mysql://nowhere")
	x := w.open(80, 24)
	if code := x.ends(); code != 2 {
		t.Errorf("it ended with %d", code)
	}
	x.restored()
	x.see("error[INVALID_CONFIG]", "mysql")
}

func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	x := newWorld(t, "RAMET_TEST_PANIC=1").open(80, 24)
	x.see("[0]", "F1 help")
	x.say("/ps")
	if code := x.ends(); code != 1 {
		t.Errorf("it ended with %d", code)
	}
	x.restored()
	x.see("error[FAILED]", "the terminal broke")
}
