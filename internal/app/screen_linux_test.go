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
	"ramet/internal/store/sqlite"
)

func TestTheFirstStartShowsWhatToDo(t *testing.T) {
	t.Parallel()
	x := newWorld(t).open(80, 24)
	x.see("offline/offline", "built-in", "/tour", "/key: add an API key", "Three things to try", "[0]", "F1 help")
	x.press("?")
	x.see("Commands", "/fork")
	x.press(escape)
	x.see("Three things to try")
	x.leave()
}

func TestATurnWithToolsAsksFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.open(80, 24)
	x.see("Three things to try")
	x.say("run echo one > made.txt")
	x.see("wants to run", "echo one > made.txt", "❯ No")
	if _, err := os.Stat(filepath.Join(w.project, "made.txt")); err == nil {
		t.Error("it ran before it was permitted")
	}
	x.decide("Allow once")
	x.see("● bash", "[offline model] Ran", "idle", "(terminal), once")
	if got, err := os.ReadFile(filepath.Join(w.project, "made.txt")); err != nil || string(got) != "one\n" {
		t.Errorf("it made %q, %v", got, err)
	}
	x.say("run touch never.txt")
	x.see("wants to run", "touch never.txt", "bash(touch never.txt)")
	x.decide("No, because")
	x.see("No, because: ▏")
	x.press("not today")
	x.see("not today▏")
	x.press(enter)
	x.see("✗ bash", "not today", "idle")
	if _, err := os.Stat(filepath.Join(w.project, "never.txt")); err == nil {
		t.Error("it ran although it was refused")
	}
	x.say("write 'some words' to notes.txt")
	x.see("wants to write", "notes.txt", "1 +some words")
	x.decide("Allow once")
	x.see("● write", "idle")
	if got, err := os.ReadFile(filepath.Join(w.project, "notes.txt")); err != nil || !strings.Contains(string(got), "some words") {
		t.Errorf("it wrote %q, %v", got, err)
	}
	x.say("run git --version")
	x.see("wants to run", "git --version", "Allow for this agent")
	x.decide("Allow for this agent")
	x.see("git version", "idle")
	x.say("run git --version")
	x.until("no question", func(s string) bool { return strings.Count(s, "● bash git --version") == 2 })
	x.leave()
	if log := w.ramet("log", "0"); !strings.Contains(log, "not today") {
		t.Errorf("the model was not told why: %s", log)
	}
}

func TestForkingMovesToTheChildAndDraftsStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("here.txt", "words")
	x := w.open(100, 30)
	x.see("Three things to try")
	x.say("say hello")
	x.see("[offline model]", "idle")
	x.say(`/fork --name ada "list the files"`)
	x.see("↑0", "[ada]", "forked from 0", "here.txt", "done")
	x.press("half a thought of ada")
	x.see("half a thought of ada")
	x.press(ctrlUp)
	x.see("[0]", "↓1")
	x.gone("half a thought of ada")
	x.press("zero's own")
	x.see("zero's own")
	x.press(ctrlDown)
	x.see("[ada]", "half a thought of ada")
	x.gone("zero's own")
	x.press(ctrlUp)
	x.see("[0]", "zero's own")
	x.press(ctrlC)
	x.gone("zero's own")
	x.say("/fork --name bob")
	x.see("[bob]", "←ada", "→ada")
	x.press(ctrlRight)
	x.see("[ada]", "half a thought of ada")
	x.press(ctrlLeft)
	x.see("[bob]")
	x.press(ctrlT)
	x.see("3 agents", "├ ada", "└ bob")
	x.press(ctrlG)
	x.see("go to")
	x.press("ad", enter)
	x.see("[ada]", "half a thought of ada")
	x.press(ctrlC)
	x.gone("half a thought")
	x.leave()
}

func TestKillCascadeCountsAndAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, args := range [][]string{{"fork", "0", "--name", "ada"}, {"fork", "ada", "--name", "bob"}, {"fork", "bob", "--name", "cy"}, {"fork", "0", "--name", "dee"}} {
		w.ramet(args...)
	}
	x := w.open(90, 24)
	x.see("[0]", "↓2")
	x.say("/switch ada")
	x.see("[ada]")
	x.say("/kill --cascade")
	x.see("Kill ada and its subtree?", "kills 3 agents", "Kill all 3")
	x.press(escape)
	x.gone("Kill ada")
	x.see("[ada]")
	x.say("/kill --cascade")
	x.choose("Kill all 3")
	x.see("[0]", "killed 2 agents below it", "↓1")
	x.say("/switch ada")
	x.see("[ada]", "killed: killed by the user")
	x.say("anybody there?")
	x.see("DEAD_AGENT")
	x.press(ctrlC)
	x.say("/kill 0")
	x.see("AGENT_ZERO")
	x.see("❯ /kill 0") // it waits to be mended
	x.press(ctrlC)
	x.gone("❯ /kill 0")
	x.leave()
	if ps := w.ramet("ps"); strings.Contains(ps, "bob") || !strings.Contains(ps, "dee") {
		t.Errorf("alive are:\n%s", ps)
	}
}

func TestMailIsSentNoticedAndRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ramet("config", "set", "wake", "never") // else the letter is read at once, by ada
	w.ramet("fork", "0", "--name", "ada")
	x := w.open(90, 24)
	x.see("[0]")
	x.say(`/send ada "a letter for you"`)
	x.see("letter 1 to ada", "mail for ada")
	x.press(ctrlDown)
	x.see("[ada]", "✉ 1")
	x.say("/check-mail")
	x.see("unread", "a letter for you")
	x.say("/read-mail")
	x.see("letter 1 from you")
	x.gone("✉ 1")
	x.say("/delete-mail 1")
	x.see("letter 1 is deleted")
	x.say("/check-mail")
	x.see("no mail for ada")
	w.ramet("send", "0", "from another terminal")
	x.see("mail for 0")
	x.leave()
}

func TestEscapeStopsTheTurnAndKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := filepath.Join(w.home, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	w.script(`{"steps": [{"text": "as I was saying to"}, {"wait": "`+gate+`"}, {"text": " never"}]}`,
		`{"when": "second", "steps": [{"text": "the second answer"}]}`)
	x := w.open(80, 24)
	x.see("[0]", "script/")
	x.say("speak")
	x.see("as I was saying", "Esc stops")
	x.say("second, please")
	x.see("(queued)")
	x.press(escape)
	x.see("interrupted", "as I was saying", "❯ second, please")
	x.press(enter)
	x.see("the second answer", "idle")
	x.leave()
}

func TestASigkillInMidTurnLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gate := filepath.Join(w.home, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(gate, []byte("x"), 0); err != nil { // the model waits for that
		t.Fatal(err)
	}
	x.see("I go on", "idle")
	x.leave()
	w.ramet("verify")
}

// kept waits until what was shown of a reply is on disk.
func (w *world) kept(name, words string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), screenPatience)
	defer cancel()
	found, err := filepath.Glob(filepath.Join(w.home, "ramet", "workspaces", "*", "ramet.db"))
	if err != nil || len(found) != 1 {
		w.t.Fatalf("%v %v", found, err)
	}
	ws, err := sqlite.Open(ctx, found[0], sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
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

func TestAStormOfResizes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ramet("append", "0", "wide 你好 and 👩‍👩‍👧‍👦 and שלום "+strings.Repeat("word ", 60))
	x := w.open(80, 24)
	x.see("[0]", "wide")
	x.press(ctrlT)
	for i := range 200 {
		x.resize(40+(i*37)%180, 10+(i*13)%50)
		if i%10 == 0 {
			x.press("x")
		}
	}
	x.resize(40, 10)
	x.see("[0]", "xxxxxxxxxxxxxxxxxxxx")
	x.press(ctrlC)
	x.gone("xxxxx")
	x.press(ctrlT)
	x.resize(120, 40)
	x.see("[0]", "wide 你好", "שלום", "F1 help")
	x.leave()
}

func TestTenThousandLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.open(80, 24)
	x.see("[0]", "offline")
	x.say("!seq 1 10000")
	x.see("● !", "10000", "above")
	x.say("run seq 20001 30000")
	x.see("wants to run")
	x.decide("Allow once")
	x.see("[offline model] Ran seq", "30000", "idle")
	x.press(ctrlO) // all open: the lines are there to be scrolled
	x.see("30000")
	for range 30 {
		x.press(pgUp)
	}
	x.until("scrolled up", func(s string) bool { return strings.Contains(s, "PgDn scroll") })
	x.press(ctrlF)
	x.see("find:")
	x.press("seq 20001", enter)
	x.see("find: seq 20001", "● bash seq 20001 30000")
	x.press(escape)
	x.gone("find:")
	x.leave()
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
	x.ends()
	x.restored()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range []string{"\x1b]52;", "evil title\x07", "\x1b]0;evil", "\x1b[31;1Hmoved", "\u202e", "\x1bP+q544e", "\x1bc"} {
		if strings.Contains(x.raw.String(), e) {
			t.Errorf("%q reached the terminal", e)
		}
	}
}

func TestASignalRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	x := newWorld(t).open(80, 24)
	x.see("[0]")
	x.signal(syscall.SIGTERM)
	if code := x.ends(); code != 130 {
		t.Errorf("it ended with %d", code)
	}
	x.restored()
}

func TestCtrlCTwiceLeaves(t *testing.T) {
	t.Parallel()
	x := newWorld(t).open(80, 24)
	x.see("[0]")
	x.press(ctrlC)
	x.see("Press Ctrl+C again to quit")
	x.press(ctrlC)
	if code := x.ends(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	x.restored()
}

func TestTheViewOfTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, args := range [][]string{{"append", "0", "the first words"}, {"mark", "0", "here"}, {"append", "0", "the later words"}, {"fork", "0", "--name", "ada"}, {"append", "ada", "words of ada"}} {
		w.ramet(args...)
	}
	x := w.open(90, 24)
	x.see("the later words")
	x.press(ctrlDown)
	x.see("[ada]", "words of ada")
	x.press(ctrlL)
	x.see("lineage of ada", "◆ mark here", "the first words", "words of ada", "f fork here")
	x.press("\x1b[A", "\x1b[A", "\x1b[A", "\x1b[A", "\x1b[A")
	x.press("f")
	x.see("rewound to message")
	x.gone("[ada]")
	x.say("/switch ada")
	x.see("[ada]", "words of ada")
	x.say("/mark there")
	x.see("mark there")
	x.say("/rewind here")
	x.see("rewound to here")
	x.say("/clear")
	x.gone("the first words")
	x.leave()
}

func TestAForkWaitsForToolsAndCanBeCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "RAMET_ALLOW=bash")
	gate := filepath.Join(w.project, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	x := w.open(80, 24)
	x.see("[0]", "offline")
	x.say("run echo begun; read line < gate; echo went on")
	x.see("begun", "runs bash")
	x.say("/fork --name never")
	x.see("The fork is waiting for running tools")
	x.press(escape)
	x.see("nothing was forked", "runs bash")
	x.say("/fork --name later")
	x.see("The fork is waiting for running tools")
	if err := os.WriteFile(gate, []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	x.see("[later]", "went on")
	x.leaveSure()
	if ps := w.ramet("ps"); strings.Contains(ps, "never") || !strings.Contains(ps, "later") {
		t.Errorf("there are:\n%s", ps)
	}
}

// choose goes down to an answer of the box above the prompt, and confirms it.
func (t *terminal) choose(answer string) {
	t.t.Helper()
	t.see("  "+answer, "Enter confirm")
	for range 4 {
		if strings.Contains(t.text(), "❯ "+answer) {
			break
		}
		before := highlight(t.text())
		t.press(down)
		t.until("another highlight", func(s string) bool { return highlight(s) != before })
	}
	t.press(enter)
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

func TestABackgroundAgentAsksWithoutStealingTheScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.open(90, 24)
	x.see("[0]", "offline")
	x.say(`/fork --name ada "wait 1 second then run echo from ada"`)
	x.see("[ada]")
	x.press(ctrlUp)
	x.see("[0]", "1 question: Ctrl+P") // a notice says it too, but not for ever
	x.press("\x10")                    // Ctrl+P
	x.see("[ada]", "wants to run", "echo from ada")
	x.decide("Allow once")
	x.see("from ada", "done")
	x.press(ctrlUp)
	x.see("[0]")
	x.leave()
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

func TestTwoTerminalsOnOneAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.open(80, 24)
	x.see("[0]", "offline")
	y := w.open(80, 24)
	y.see("[0]", "offline")
	x.say("say hello from x")
	x.see("[offline model]", "idle")
	y.see("hello from x", "[offline model]")
	y.say("say hello from y")
	x.see("hello from y")
	x.leave()
	y.leave()
	w.ramet("verify")
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

func TestNoTerminalMeansHelp(t *testing.T) {
	t.Parallel()
	if out := newWorld(t).ramet(); !strings.Contains(out, "Usage:") {
		t.Errorf("it printed %q", out)
	}
}

func TestAPanicLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	x := newWorld(t, "RAMET_TEST_PANIC=1", "RAMET_BACKGROUND=no").open(80, 24)
	x.see("[0]", "F1 help")
	x.say("/ps")
	if code := x.ends(); code != 1 {
		t.Errorf("it ended with %d", code)
	}
	x.restored()
	x.see("error[FAILED]", "the terminal broke")
}
