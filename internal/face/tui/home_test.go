package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/operation/public"
	"ramet/internal/turn/permit"
)

// crew is five agents of which one asks and three work, one is done, and a run.
func crew() *stage {
	s := newStage()
	for i, one := range []struct {
		name, parent, asked, said string
		now                       state.State
	}{
		{"zero", "", "Find out why the tests are flaky", "I look at the clock and at the port.", state.State{Word: state.Working, Detail: state.Thinks}},
		{"fix-money", "zero", "Mend Money.String for negative amounts, run its tests", "I run them.", state.State{Word: state.Asks}},
		{"clock", "zero", "Is it the clock?", "", state.State{Word: state.Working, Detail: state.Runs("bash")}},
		{"port", "zero", "Is it the port?", "The listener is never closed, so the next test cannot bind.", state.State{Word: state.Working, Detail: state.Writes}},
		{"review", "zero", "Review what changed", "3 findings, 1 serious", state.State{Word: state.Done}},
		{"run-docs", "zero", "", "", state.State{Word: state.Working, Detail: state.Thinks}},
		{"writer", "run-docs", "Write the page", "", state.State{Word: state.Working, Detail: state.Writes}},
		{"old", "zero", "Long ago", "It is so.", state.State{Word: state.Idle}},
		{"broken", "port", "Try it again", "", state.State{Word: state.Failed, Detail: "PROVIDER_AUTH: no key"}},
	} {
		a := s.born(one.name, one.parent)
		a.Model, a.Spent = "claude-sonnet-4-6", agent.Spending{Tokens: int64(i+1) * 12_345, Cost: int64(i+1) * 123_400_000}
		if one.asked != "" {
			s.say(one.name, history.User, words(one.asked))
		}
		if one.said != "" {
			s.say(one.name, history.Assistant, words(one.said))
		}
		s.agents.States[who(one.name)] = one.now
	}
	s.agents.All[0].Budget.Cost = agent.AtMost(20_000_000_000)
	s.agents.All[3].Unread = 1
	s.agents.All[3].Provider, s.agents.All[3].Model = "driver", "codex"
	s.changes = map[id.Agent]public.HomeChange{who("fix-money"): {Branch: "ramet/fix-money", Files: 2}, who("clock"): {Branch: "ramet/clock", Files: 3, Added: 41, Removed: 7},
		who("port"): {Branch: "ramet/port", Files: 1, Added: 12, Removed: 2}}
	return s
}

// asks puts the question of fix-money.
func asks(x *show) (answered *permit.Verdict) {
	answered = &permit.Verdict{}
	x.take(askedMsg{Question{Question: permit.Question{Agent: who("fix-money"), Tool: "bash", Summary: "go test ./money", Subject: "go test ./money"},
		Answer: func(v permit.Verdict) { *answered = v }}})
	return answered
}

func (x *show) home() {
	x.t.Helper()
	x.press("left")
	x.take(homeMsg{})
}

// three performs at the sizes of Home's golden screens.
func three(t *testing.T, name string, act func(*show)) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		x := perform(t, crew(), size[0], size[1])
		x.o.Project = "/src/cart"
		asks(x)
		x.home()
		act(x)
		x.golden(name)
	}
}

func TestGoldenHome(t *testing.T) {
	three(t, "home", func(x *show) {})
	three(t, "home-answer", func(x *show) { x.press("up", "up", " ") })
	three(t, "home-kill", func(x *show) { x.press("down", "down", "k") })
	three(t, "home-fork", func(x *show) { x.press("f") })
	three(t, "home-filter", func(x *show) { x.press("/", "clock") })
	three(t, "home-diff", func(x *show) {
		x.s.answer = "diff --git a/m.go b/m.go\n--- a/m.go\n+++ b/m.go\n@@ -1 +1 @@\n-old\n+new\n"
		x.press("d")
	})
	three(t, "home-help", func(x *show) { x.press("?") })
}

func (x *show) cursor() string {
	x.t.Helper()
	r, _ := x.hall.row()
	return r.Name
}

func TestHomeHasOneFocus(t *testing.T) {
	x := perform(t, crew(), 120, 40)
	got := asks(x)
	x.home()
	if x.cursor() != "0" {
		t.Fatalf("the cursor is on %s", x.cursor())
	}
	x.press("xyz") // letters without a meaning do nothing
	if x.screens[who("zero")].input.Text() != "" || !x.hall.on {
		t.Error("the list took letters")
	}
	x.press("up", "up")
	if x.cursor() != "fix-money" {
		t.Fatalf("up twice: %s", x.cursor())
	}
	x.press(" ")
	if x.now.agent != who("fix-money") || x.asking() == nil {
		t.Fatal("the line is not before the question")
	}
	x.press("enter") // in the quiet time: for nothing
	if got.Choice != "" {
		t.Fatal("a key answered that was typed before the question was seen")
	}
	x.wait(5 * time.Second)
	x.press("down", "down", "enter")
	if got.Choice == "" || got.Choice == permit.Refuse {
		t.Fatalf("answered %+v", got)
	}
	if x.hall.line || x.now.agent != who("zero") || !x.hall.on {
		t.Error("after the answer the list has not the keys, or the current agent is another")
	}
	x.press("end", " ", "go on, please", "enter")
	if want := fmt.Sprintf("turn %s %q", who("old")[:3], "go on, please"); x.cursor() != "old" || !slices.Contains(x.s.said, want) {
		t.Errorf("on %s: %q", x.cursor(), x.s.said)
	}
	x.press(" ", "a draft", "esc")
	if x.hall.line || x.screens[x.hall.at].input.Text() != "a draft" {
		t.Error("a draft is lost with Esc")
	}
	at := x.hall.at
	x.press("enter")
	if x.hall.on || x.now.agent != at || x.now.input.Text() != "a draft" {
		t.Error("Enter did not open the agent with its draft")
	}
}

func TestHomeConfirmsWhatCannotBeUndone(t *testing.T) {
	x := perform(t, crew(), 80, 24)
	x.home()
	x.press("k")
	if x.over != nil || !strings.Contains(x.note.text, "AGENT_ZERO") {
		t.Error("agent 0 can be killed")
	}
	for x.cursor() != "port" {
		x.press("down")
	}
	x.press("k")
	if got := x.screen(); !strings.Contains(got, "kills 2 agents") || !strings.Contains(got, "port, broken") {
		t.Errorf("neither the count nor the names:\n%s", got)
	}
	x.press("esc")
	if len(x.s.said) != 0 {
		t.Errorf("Esc did something: %q", x.s.said)
	}
	x.press("k", "y")
	if got := strings.Join(x.s.said, "\n"); !strings.Contains(got, `call kill {"agent":"`+string(who("port"))+`","cascade":true`) {
		t.Errorf("%s", got)
	}
	x.s.said = nil
	x.press("f", "enter") // too soon
	if len(x.s.said) != 0 {
		t.Errorf("a hasty Enter forked: %q", x.s.said)
	}
	x.wait(time.Second)
	x.hall.rests = false
	x.press("enter")
	if x.hall.rests {
		t.Error("the row that the cursor left for the child stays where it is")
	}
	if got := strings.Join(x.s.said, "\n"); !strings.Contains(got, "fork "+string(who("port")[:3])) {
		t.Errorf("%q", got)
	}
	if !x.hall.on || !x.hall.line {
		t.Error("after a fork its prompt has not the keys")
	}
}

func TestRowsDoNotJumpUnderTheCursor(t *testing.T) {
	x := perform(t, crew(), 80, 24)
	x.home()
	for x.cursor() != "clock" {
		x.press("down")
	}
	group := func(name string) public.HomeSection {
		i := slices.IndexFunc(x.hall.table.Rows, func(r public.HomeEntry) bool { return r.Name == name })
		return x.hall.table.Rows[i].Group
	}
	x.s.agents.States[who("clock")] = state.State{Word: state.Done}
	x.run(x.look())
	if x.cursor() != "clock" || group("clock") != public.Working {
		t.Errorf("%s is in %s", x.cursor(), group("clock"))
	}
	x.press("down")
	x.take(homeMsg{})
	if group("clock") != public.Working {
		t.Error("it moved before the cursor rested elsewhere")
	}
	x.wait(2 * time.Second)
	at := x.cursor()
	x.take(homeMsg{})
	if group("clock") != public.Done || x.cursor() != at {
		t.Errorf("it stays in %s, the cursor on %s", group("clock"), x.cursor())
	}
}

// A filter moves the cursor too: the row that it left goes where it belongs.
func TestRowsMoveWhenAFilterTookTheCursor(t *testing.T) {
	x := perform(t, crew(), 80, 24)
	x.home()
	for x.cursor() != "clock" {
		x.press("down")
	}
	x.s.agents.States[who("clock")] = state.State{Word: state.Done}
	x.run(x.look())
	for _, k := range []string{"/", "p", "o", "r", "t"} {
		x.press(k)
	}
	if x.cursor() == "clock" {
		t.Fatalf("on %s", x.cursor())
	}
	x.press("esc")
	x.wait(2 * time.Second)
	if x.hall.rests {
		t.Fatal("nobody looks whether the cursor rests")
	}
	x.take(homeMsg{})
	i := slices.IndexFunc(x.hall.table.Rows, func(r public.HomeEntry) bool { return r.Name == "clock" })
	if got := x.hall.table.Rows[i].Group; got != public.Done {
		t.Errorf("it stays in %s", got)
	}
}

func TestHomeBeginsWhereOneWas(t *testing.T) {
	x := perform(t, crew(), 80, 24)
	x.run(x.goTo(who("broken")))
	x.home()
	if x.cursor() != "broken" {
		t.Errorf("on %s", x.cursor())
	}
	x.press("esc")
	if x.hall.on || x.now.agent != who("broken") {
		t.Error("Esc does not go back")
	}
	for i := range x.s.agents.All {
		if x.s.agents.All[i].Name == "broken" {
			x.s.agents.All[i].Status = agent.Dead
		}
	}
	x.run(x.look())
	x.home()
	if x.cursor() == "clock" {
		t.Errorf("of a dead one on %s, not on its nearest living ancestor", x.cursor())
	}
}

func TestHomeIsShownFirstWhereThereAreMany(t *testing.T) {
	for _, c := range []struct {
		s     *stage
		typed string
		want  bool
	}{{crew(), "", true}, {crew(), "words", false}, {fresh(), "", false}} {
		x := perform(t, newStage(), 80, 24)
		x.s, x.workspace, x.agents, x.o.Home = c.s, c.s, nil, true
		x.press(c.typed)
		x.run(x.look())
		if x.hall.on != c.want {
			t.Errorf("with %d agents and %q typed: %v", len(c.s.agents.All), c.typed, x.hall.on)
		}
	}
}

// What is folded opens, and a thousand rows move at once.
func TestHomeFolds(t *testing.T) {
	s := newStage()
	s.born("zero", "")
	for i := range 40 {
		s.born(fmt.Sprintf("idle%02d", i), "zero")
	}
	x := perform(t, s, 80, 24)
	x.home()
	if got := x.screen(); !strings.Contains(got, "… 36 more") || strings.Contains(got, "idle09") {
		t.Errorf("the idle are not folded:\n%s", got)
	}
	x.press("end", "enter")
	if got := x.screen(); strings.Contains(got, "more") || !strings.Contains(got, "idle09") {
		t.Errorf("they do not open:\n%s", got)
	}
	x.press("end")
	if x.cursor() != "idle39" {
		t.Errorf("the end is %s", x.cursor())
	}
	x.take(tea.WindowSizeMsg{Width: 20, Height: 6})
	x.screen()
}

// What a notice says at its end is what to do: it is shown whole, where there is room for it.
func TestANoticeIsShownToItsEnd(t *testing.T) {
	x := perform(t, crew(), 80, 24)
	said := "error[NOT_FOUND]: there is no program here that reads images from the clipboard: install wl-clipboard or xclip, or name the file with @FILE"
	x.tell(bad, said)
	whole := func() string { return strings.Join(strings.Fields(x.screen()), " ") }
	if got := whole(); !strings.Contains(got, said) {
		t.Errorf("the end is missing:\n%s", x.screen())
	}
	x.home()
	x.tell(bad, said)
	if got := whole(); !strings.Contains(got, said) {
		t.Errorf("the end is missing on Home:\n%s", x.screen())
	}
	x.tell(bad, strings.Repeat("on and on ", 100))
	if n := strings.Count(x.screen(), "on and on"); n > 40 {
		t.Errorf("a notice of any length takes the whole screen:\n%s", x.screen())
	}
}

// Space on Home is a step towards the answer, and no text that somebody was typing: the keys are the
// question's as soon as it was seen.
func TestSpaceOnHomeIsNoTyping(t *testing.T) {
	x := perform(t, crew(), 120, 40)
	answered := asks(x)
	x.home()
	x.press("up", "up")
	x.shows("(Space: answer fix-money)")
	x.press(" ")
	x.wait(600_000_000)
	x.press("down", "down")
	x.shows("❯ Allow once")
	x.press("enter")
	if answered.Choice != permit.Once {
		t.Errorf("the answer is %+v", answered)
	}
}
