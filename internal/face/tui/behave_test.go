package tui

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

func (x *show) shows(texts ...string) {
	x.t.Helper()
	screen := x.screen()
	for _, want := range texts {
		if !strings.Contains(screen, want) {
			x.t.Errorf("the screen does not show %q:\n%s", want, screen)
		}
	}
}

func (x *show) hides(texts ...string) {
	x.t.Helper()
	screen := x.screen()
	for _, text := range texts {
		if strings.Contains(screen, text) {
			x.t.Errorf("the screen shows %q:\n%s", text, screen)
		}
	}
}

func TestEveryViewFitsEveryScreen(t *testing.T) {
	views := map[string]func(*show){
		"conversation": func(x *show) {},
		"open":         func(x *show) { x.press("ctrl+o") },
		"tree":         func(x *show) { x.press("ctrl+t") },
		"jump":         func(x *show) { x.press("ctrl+g") },
		"help":         func(x *show) { x.press("f1") },
		"model":        func(x *show) { x.press("/model", "enter") },
		"kill":         func(x *show) { x.press("/kill ada --cascade", "enter") },
		"complete":     func(x *show) { x.press("/") },
		"find":         func(x *show) { x.press("ctrl+f", "e") },
		"editor":       func(x *show) { x.press(strings.Repeat("word 你好 ", 60)) },
		"log": func(x *show) {
			x.s.points = []Point{{ID: 1, Kind: history.Fork, Text: strings.Repeat("long ", 50)}}
			x.press("ctrl+l")
		},
		"permission": func(x *show) {
			x.take(askedMsg{Question{Question: permit.Question{Agent: who("zero"), Tool: "bash", Subject: strings.Repeat("echo 你好 && ", 80), Why: strings.Repeat("why ", 60)}}})
		},
		"queue": func(x *show) {
			event(x, loop.Event{Type: loop.TurnStarted, Agent: who("zero")})
			for range 6 {
				x.press(strings.Repeat("more ", 30), "enter")
			}
		},
	}
	for name, act := range views {
		for _, size := range [][2]int{{40, 10}, {41, 11}, {60, 15}, {83, 24}, {84, 24}, {300, 90}, {20, 5}} {
			t.Run(name, func(t *testing.T) {
				x := perform(t, family(), size[0], size[1])
				x.screen()
				act(x)
				x.screen()
				x.press("pgup", "pgup", "pgup")
				x.screen()
			})
		}
	}
}

func TestEachAgentKeepsWhatWasTyped(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("for zero", "ctrl+down")
	x.hides("for zero")
	x.press("for bob", "ctrl+right")
	x.shows("[ada]")
	x.press("ctrl+right")
	x.shows("[bob]", "for bob")
	x.press("ctrl+up")
	x.shows("[0]", "for zero")
	x.press("ctrl+up") // nobody is there
	x.shows("[0]")
}

func TestWhatIsOnDiskComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "state.json")
	x := perform(t, family(), 80, 24)
	x.o.State = path
	x.desk, _ = sit(path)
	x.press("/switch bob", "enter", "a draft of bob", "ctrl+up", "zero", "pgup", "ctrl+t")
	x.run(x.save())
	x.desk.leave()
	again := newRoot(t.Context(), x.o)
	defer again.desk.leave()
	y := &show{again, t, x.s, x.at}
	y.take(tea.WindowSizeMsg{Width: 80, Height: 24})
	y.shows("zero") // before anything is open
	y.press(" typed early")
	y.workspace = x.s
	y.run(y.look())
	y.shows("zero typed early", "[0]", "4 agents")
	y.press("ctrl+down")
	y.shows("[bob]", "a draft of bob")
	for _, damage := range []string{"", "{", `{"version":99}`, `[]`, `{"version":1,"agents":null}`} {
		testkit.OK(t, os.WriteFile(path, []byte(damage), 0o600))
		if m := recall(path); m.Agents == nil || len(m.Said) != 0 {
			t.Errorf("%q gives %+v", damage, m)
		}
	}
}

func TestWhatIsTypedWhileItWorksWaits(t *testing.T) {
	x := perform(t, family(), 80, 24)
	event(x, loop.Event{Type: loop.TurnStarted, Agent: who("zero")})
	x.press("one", "enter", "two", "enter")
	if len(x.s.said) != 0 || !slices.Equal(x.now.queue, []string{"one", "two"}) {
		t.Fatalf("said %q, queue %q", x.s.said, x.now.queue)
	}
	x.press("ctrl+c")
	if !slices.Contains(x.s.said, "stop zer") || x.now.input.Text() != "one\ntwo" {
		t.Errorf("said %q, draft %q", x.s.said, x.now.input.Text())
	}
	x.shows("stopping")
}

// While tools run, what is typed goes to the kernel: it is said behind their results, and what was
// not said when the turn is stopped comes back, in its order.
func TestWhatIsTypedWhileToolsRunIsHandedOver(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.s.hold = true
	event(x, loop.Event{Type: loop.TurnStarted, Agent: who("zero")})
	x.press("one", "enter")
	if len(x.s.said) != 0 {
		t.Fatalf("only the model speaks, and it was handed over: %q", x.s.said)
	}
	event(x, loop.Event{Type: loop.CallStarted, Agent: who("zero"), CallID: "c1", Tool: "bash", Text: "make"})
	x.press("two", "enter", "three", "enter")
	if want := []string{`turn zer "one"`, `turn zer "two"`, `turn zer "three"`}; !slices.Equal(x.s.said, want) {
		t.Fatalf("said %q", x.s.said)
	}
	x.shows("one (queued)", "two (queued)", "three (queued)")
	one := history.Entry{ID: 900, Agent: who("zero"), Kind: history.User, Content: []byte(`[{"type":"text","text":"one"}]`), Meta: []byte("{}")}
	event(x, loop.Event{Type: loop.Recorded, Agent: who("zero"), Entry: &one})
	if got := x.now.waiting(); !slices.Equal(got, []string{"two", "three"}) {
		t.Errorf("it waits for %q", got)
	}
	x.press("ctrl+c")
	stopped := fault.New(fault.Cancelled, "stopped")
	for _, i := range []int{2, 0, 1} { // as they come
		msg := x.s.late[i]
		msg.err, msg.kept = stopped, msg.said == "one"
		x.take(msg)
	}
	if x.now.input.Text() != "two\nthree" || len(x.now.waiting()) != 0 {
		t.Errorf("draft %q, waits for %q", x.now.input.Text(), x.now.waiting())
	}
}

func TestWhatWaitsBeginsWhenATaskIsOver(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("/switch bob", "enter")
	event(x, loop.Event{Type: loop.TurnStarted, Agent: who("bob")}) // by its parent
	x.press("one", "enter", "two", "enter", "ctrl+up")
	if len(x.s.said) != 0 {
		t.Fatalf("said %q", x.s.said)
	}
	event(x, loop.Event{Type: loop.TurnEnded, Agent: who("bob"), Outcome: &loop.Outcome{}})
	if want := []string{`turn bob "one"`, `turn bob "two"`}; !slices.Equal(x.s.said, want) {
		t.Errorf("said %q", x.s.said)
	}
}

func TestAMessageThatCouldNotBeSentComesBack(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.s.err = fault.New(fault.Leased, "somebody else has it")
	x.press("hello there", "enter")
	x.shows("LEASED", "❯ hello there")
	x.s.err = errors.New("the model is away")
	x.press("ctrl+c", "again", "enter")
	x.shows("the model is away")
}

func TestAClearedConversationIsReadOnce(t *testing.T) {
	s := family()
	s.write("zero", Entry{Entry: history.Entry{Kind: history.Clear}})
	s.entries[who("zero")] = nil // nothing stands behind it
	x := perform(t, s, 80, 24)
	for range 5 {
		x.run(x.look())
	}
	if s.pages > 2 {
		t.Errorf("%d pages were read", s.pages)
	}
}

func TestOldPagesAreReadWhenOneScrollsThere(t *testing.T) {
	s := newStage()
	s.born("zero", "")
	for range 1000 {
		s.say("zero", history.User, words("question"))
		s.say("zero", history.Assistant, words("answer "+s.next.String()))
	}
	x := perform(t, s, 80, 24)
	x.shows("answer 2001")
	if s.pages != 1 {
		t.Errorf("%d pages at the start", s.pages)
	}
	for range 400 {
		x.screen()
		x.press("pgup")
	}
	x.hides("answer 2001")
	if x.now.more || len(x.now.entries) != 2001 {
		t.Errorf("%d entries were read, more: %v", len(x.now.entries), x.now.more)
	}
	x.press("ctrl+end")
	x.shows("answer 2001")
	x.press("ctrl+f", "answer 13")
	x.shows("answer 13")
}

func TestALookAtARunningReplyStaysWhereItWas(t *testing.T) {
	x := perform(t, family(), 80, 24)
	zero := who("zero")
	event(x, loop.Event{Type: loop.TurnStarted, Agent: zero})
	for range 100 {
		event(x, loop.Event{Type: loop.TextDelta, Agent: zero, Text: "a line\n\n"})
	}
	x.screen()
	x.press("pgup")
	before := x.now.at
	if before == nil || before.Entry != speaking {
		t.Fatalf("it is at %+v", before)
	}
	was := x.screen()
	e := x.s.say("zero", history.Assistant, words(strings.Repeat("a line\n\n", 100)))
	content := testkit.Must(json.Marshal(e.Parts))(t)
	e.Content, e.Meta = content, []byte("{}")
	event(x, loop.Event{Type: loop.Recorded, Agent: zero, Entry: &e.Entry})
	event(x, loop.Event{Type: loop.TurnEnded, Agent: zero, Outcome: &loop.Outcome{}})
	if x.now.at == nil || x.now.at.Entry != e.ID || x.now.live.text != nil {
		t.Errorf("it is at %+v", x.now.at)
	}
	if is := x.screen(); strings.Count(is, "a line") != strings.Count(was, "a line") {
		t.Errorf("it was\n%s\nand is\n%s", was, is)
	}
}

func TestNothingForeignDrivesTheTerminal(t *testing.T) {
	s := newStage()
	a := s.born("zero", "")
	a.EndReason = "\x1b]0;evil\x07"
	evil := "\x1b]52;c;evil\x07\x1b[2J\x9b31m\u202e\xff\r\x1bc"
	s.say("zero", history.User, words(evil))
	s.say("zero", history.Assistant, history.Part{Type: history.Thinking, Text: evil}, words(evil+"\n```\n"+evil+"\n```"), called("c", "ba\x1b[sh", `{"command":"\u001b]52;c;evil\u0007"}`))
	s.say("zero", history.ToolResult, result("c", "bash", evil))
	s.write("zero", Entry{Entry: history.Entry{Kind: history.Mark}, About: history.Meta{Label: evil}})
	s.say("zero", history.Note, words(evil))
	s.say("zero", history.Interrupted, words(evil))
	s.points = []Point{{ID: 1, Kind: history.Mark, Text: evil, Label: evil}}
	s.answer = evil
	x := perform(t, s, 100, 60)
	zero := who("zero")
	event(x, loop.Event{Type: loop.TurnStarted, Agent: zero})
	event(x, loop.Event{Type: loop.TextDelta, Agent: zero, Text: evil})
	event(x, loop.Event{Type: loop.CallStarted, Agent: zero, CallID: "d", Tool: evil, Text: evil})
	event(x, loop.Event{Type: loop.CallOutput, Agent: zero, CallID: "d", Text: evil})
	event(x, loop.Event{Type: loop.Waiting, Agent: zero, Text: evil})
	event(x, loop.Event{Type: loop.Note, Agent: zero, Text: evil})
	x.take(askedMsg{Question{Question: permit.Question{Agent: zero, Tool: evil, Subject: evil, Why: evil}, Answer: func(permit.Verdict) {}}})
	harmless := func() {
		t.Helper()
		lines := x.draw().lines
		for _, l := range lines {
			if rest := ansiOurs.ReplaceAllString(l, ""); strings.ContainsAny(rest, "\x1b\x07\r\u009b\u202e") || !json.Valid([]byte(`"`+strings.NewReplacer(`"`, "", `\`, "").Replace(rest)+`"`)) {
				t.Errorf("a line holds %q", rest)
			}
		}
	}
	harmless()
	x.press("ctrl+o")
	harmless()
	x.press("r", evil)
	harmless()
	x.press("esc", "n", "ctrl+l")
	harmless()
	x.press("esc", evil)
	x.take(tea.PasteMsg{Content: evil})
	harmless()
	x.press("ctrl+c", "/verify", "enter")
	harmless()
	x.press("ctrl+f", evil)
	harmless()
}

func TestTheDeadAreReadNotWrittenTo(t *testing.T) {
	s := family()
	s.agents.All[1].Status = agent.Dead
	x := perform(t, s, 80, 24)
	x.press("/switch ada", "enter", "hello", "enter")
	x.shows("DEAD_AGENT", "❯ hello", "[ada]")
	if len(s.said) != 0 {
		t.Errorf("said %q", s.said)
	}
	x.press("ctrl+up")
	x.shows("[0]")
}

func TestCommandsBecomeCommandLines(t *testing.T) {
	x := perform(t, family(), 80, 24)
	me := string(who("zero"))
	for line, want := range map[string]string{
		"/mark -x":                `call mark {"agent":"` + me + `","label":"-x"}`,
		"/clear":                  `call clear {"agent":"` + me + `"}`,
		`/send ada "-n hello"`:    `call send {"to":"ada","text":"-n hello","from":"you"}`,
		"/check-mail":             `call mail {"agent":"` + me + `"}`,
		"/read-mail 3":            `call read {"agent":"` + me + `","number":3}`,
		"/filter-mail --from ada": `call mail {"agent":"` + me + `","from":"ada"}`,
		"/delete-mail 3":          `call delete-mail {"agent":"` + me + `","numbers":[3]}`,
		"/ps":                     `call ps {"brief":true}`,
		"/verify":                 "call verify {}",
		"/rename eve":             `call rename {"agent":"` + me + `","name":"eve"}`,
	} {
		x.s.said = nil
		x.press(line, "enter")
		if !slices.Equal(x.s.said, []string{want}) {
			t.Errorf("%s became %q, not %q", line, x.s.said, want)
		}
	}
}

func TestTheWheelScrollsAndAClickOpens(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.shows("mark fixed")
	for range 4 {
		x.take(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	}
	x.hides("mark fixed")
	x.shows("● bash go test", "lines above")
	for y, b := range x.hits {
		if b.form == call && b.title == "bash" {
			x.take(tea.MouseClickMsg{Button: tea.MouseLeft, Y: y})
			break
		}
	}
	x.hides("lines above")
	for range 20 {
		x.take(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	}
	x.shows("mark fixed")
	if x.now.at != nil {
		t.Errorf("it is at %+v", x.now.at)
	}
}

func TestFormerPromptsComeBack(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.screen()
	x.press("the first", "enter", "the second", "enter", "a draft", "up")
	x.shows("❯ the second")
	x.press("up")
	x.shows("❯ the first")
	x.press("up", "down", "down")
	x.shows("❯ a draft")
}

func TestACompletionIsTaken(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("/swi", "enter") // not yet a command
	x.shows("❯ /switch", "ada", "bob")
	x.press("bo", "tab")
	x.press("enter")
	x.shows("[bob]")
	x.press("see @main", "tab")
	x.shows("see @main.go")
	x.press("ctrl+c", "/nonsense", "enter")
	x.shows("❯ /nonsense") // what was not understood stays
}

func TestABlockIsPickedAndCopied(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.screen()
	x.press("alt+up")
	if b := x.now.picked(); b == nil || b.form != speech {
		t.Fatalf("picked is %+v", b)
	}
	x.press("alt+up")
	b := x.now.picked()
	if b == nil || b.title != "edit" {
		t.Fatalf("picked is %+v", b)
	}
	x.press("enter")
	if !x.now.opened(b) {
		t.Error("it is not open")
	}
	x.press("c")
	x.shows("Copied")
	x.press("esc")
	if x.now.picked() != nil {
		t.Error("it is still picked")
	}
}

func TestDefinedCommandsArePromptsAndOwnOnesComeFirst(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("/za")
	x.shows("/zap", "Zaps it")
	x.press("tab", "it now", "enter")
	if want := []string{`turn zer "/zap it now"`}; !slices.Equal(x.s.said, want) {
		t.Errorf("said %q", x.s.said)
	}
	x.press("/help", "enter")
	if len(x.s.said) != 1 {
		t.Errorf("said %q", x.s.said)
	}
}

// What nobody defines stays in the prompt; what only begins with a slash is said.
func TestASlashIsNotAlwaysACommand(t *testing.T) {
	x := perform(t, family(), 80, 24)
	x.press("/zpa it", "enter")
	x.shows("unknown command /zpa", "did you mean /zap?")
	if x.now.input.Text() != "/zpa it" || len(x.s.said) > 0 {
		t.Fatalf("prompt %q, said %q", x.now.input.Text(), x.s.said)
	}
	x.now.input.set("", 0)
	x.press("/etc/hosts is odd", "enter")
	x.press(" /zpa it", "enter")
	x.press("/far:prompt x", "enter") // a server's, perhaps
	if want := []string{`turn zer "/etc/hosts is odd"`, `turn zer " /zpa it"`, `turn zer "/far:prompt x"`}; !slices.Equal(x.s.said, want) {
		t.Errorf("said %q", x.s.said)
	}
}
