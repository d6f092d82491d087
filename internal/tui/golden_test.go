package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/permit"
	"ramet/internal/state"
)

// family is agent 0 with two children and a grandchild, and conversations.
func family() *stage {
	s := newStage()
	s.born("zero", "")
	s.say("zero", history.User, words("Please look at the tests, and fix what fails."))
	s.say("zero", history.Assistant, history.Part{Type: history.Thinking, Text: "I should run them first.\nThen read the failing ones."},
		words("I run the tests first."), called("c1", "bash", `{"command":"go test ./..."}`))
	s.say("zero", history.ToolResult, result("c1", "bash", strings.Repeat("ok  \tramet/internal/id\t0.01s\n", 9)+"FAIL\tramet/internal/loop\t0.2s\n"))
	s.write("zero", Entry{Entry: history.Entry{Kind: history.Usage}, About: history.Meta{Call: &history.Call{Model: "offline/offline", Input: 12000, Output: 300}}})
	edit := result("c2", "edit", "edited loop.go")
	edit.Show = "--- loop.go\n+++ loop.go\n@@ -1,3 +1,3 @@\n func add(a, b int) int {\n-\treturn a - b\n+\treturn a + b\n }\n"
	s.say("zero", history.Assistant, called("c2", "edit", `{"path":"loop.go","old":"a - b","new":"a + b"}`))
	s.say("zero", history.ToolResult, edit)
	s.say("zero", history.Assistant, words("# Done\n\nThe sign was **wrong** in `add`:\n\n```go\nfunc add(a, b int) int {\n\treturn a + b // not -\n}\n```\n\n- tests pass\n- 你好 and 👩‍👩‍👧‍👦 too\n"))
	s.write("zero", Entry{Entry: history.Entry{Kind: history.Mark}, About: history.Meta{Label: "fixed"}})
	s.born("ada", "zero")
	s.say("ada", history.User, words("Write the changelog."))
	s.born("bob", "zero")
	s.born("cy", "ada")
	for i := range s.agents.All {
		s.agents.All[i].Spent = agent.Spending{Tokens: int64(i) * 12_345, Cost: int64(i) * 1_234_000_00}
	}
	s.agents.All[2].Unread = 2
	s.agents.States[who("cy")] = state.State{Word: state.Working, Detail: state.Elsewhere}
	return s
}

// everySize performs at the three sizes of the golden screens.
func everySize(t *testing.T, s func() *stage, name string, act func(*show)) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		x := perform(t, s(), size[0], size[1])
		act(x)
		x.golden(name)
	}
}

func fresh() *stage {
	s := newStage()
	s.born("zero", "")
	s.entries[who("zero")] = nil // a screen shows nothing of it
	return s
}

// beside is a first start on a machine where servers answer that nobody named.
func beside() *stage {
	s := fresh()
	s.found = []Model{{Ref: llm.Ref{Vendor: "ollama", Name: "llama3:8b"}, Title: "Ollama"}, {Ref: llm.Ref{Vendor: "ollama", Name: "qwen"}, Title: "Ollama"},
		{Ref: llm.Ref{Vendor: "lmstudio", Name: "phi"}, Title: "LM Studio"}}
	return s
}

func event(x *show, e loop.Event) {
	x.t.Helper()
	x.take(eventsMsg{e})
}

func TestGoldenScreens(t *testing.T) {
	zero := who("zero")
	everySize(t, fresh, "first", func(x *show) {})
	everySize(t, beside, "first-servers", func(x *show) { x.run(x.findServers()) })
	everySize(t, family, "conversation", func(x *show) {})
	everySize(t, family, "open", func(x *show) { x.press("ctrl+o") })
	everySize(t, family, "scrolled", func(x *show) { x.screen(); x.press("pgup") })
	everySize(t, family, "tree", func(x *show) { x.press("ctrl+t") })
	everySize(t, family, "child", func(x *show) { x.press("ctrl+down", "ctrl+left") })
	everySize(t, family, "jump", func(x *show) { x.press("ctrl+g") })
	everySize(t, family, "jump-typed", func(x *show) { x.press("ctrl+g", "ad") })
	everySize(t, family, "help", func(x *show) { x.press("f1") })
	everySize(t, family, "help-fork", func(x *show) { x.press("/help fork", "enter") })
	everySize(t, family, "model", func(x *show) { x.press("/model", "enter") })
	everySize(t, family, "kill", func(x *show) { x.press("/kill ada --cascade", "enter") })
	everySize(t, family, "complete", func(x *show) { x.press("/re") })
	everySize(t, family, "files", func(x *show) { x.press("look at @tui") })
	everySize(t, family, "find", func(x *show) { x.screen(); x.press("ctrl+f", "FAIL") })
	everySize(t, family, "usage", func(x *show) {
		x.s.answer = "AGENT  CALLS  TOKENS   COST\n0          3   12345  $0.12\n"
		x.press("/usage", "enter")
	})
	everySize(t, family, "editor", func(x *show) {
		x.press("the first line", "alt+enter", "a second 你好", "alt+enter", "third")
		x.take(tea.PasteMsg{Content: strings.Repeat("pasted\n", 300)})
	})
	everySize(t, family, "working", func(x *show) {
		event(x, loop.Event{Type: loop.TurnStarted, Agent: zero})
		event(x, loop.Event{Type: loop.ThinkingDelta, Agent: zero, Text: "Let me see what the user wants."})
		event(x, loop.Event{Type: loop.TextDelta, Agent: zero, Text: "I look at *both* files:\n\n1. one"})
		event(x, loop.Event{Type: loop.CallStarted, Agent: zero, CallID: "c9", Tool: "bash", Text: "make all"})
		event(x, loop.Event{Type: loop.Became, Agent: zero, State: &state.State{Word: state.Working, Detail: state.Runs("bash")}})
		event(x, loop.Event{Type: loop.CallOutput, Agent: zero, CallID: "c9", Tool: "bash", Text: "cc a.c\ncc b.c\n"})
		x.s.hold = true
		x.press("and then lint it", "enter")
	})
	everySize(t, family, "permission", func(x *show) {
		event(x, loop.Event{Type: loop.TurnStarted, Agent: zero})
		event(x, loop.Event{Type: loop.CallStarted, Agent: zero, CallID: "c9", Tool: "bash", Text: "git push"})
		rule, err := permit.Parse("bash(git log --oneline)")
		if err != nil {
			t.Fatal(err)
		}
		x.take(askedMsg{Question{Question: permit.Question{Agent: zero, Tool: "bash", Summary: "git push", Subject: "git push origin \x1b[31mmain &&\nrm -rf build", Rule: rule, NoRule: "it pushes (git push)", Why: "there is no sandbox here"}}})
	})
	everySize(t, family, "permission-edit", func(x *show) {
		x.s.say("zero", history.Assistant, called("e1", "edit", `{"path":"docs/a.md","old_string":"one\ntwo","new_string":"one\n\u001b[2Jthree"}`))
		x.run(x.look())
		x.take(askedMsg{Question{Question: permit.Question{Agent: zero, Tool: "edit", Summary: "edit docs/a.md", Subject: "docs/a.md"}}})
	})
	everySize(t, family, "permission-edits", func(x *show) {
		x.s.say("zero", history.Assistant, called("e1", "edit", `{"path":"server.go","edits":[{"old_string":"func main() {\n\tserve(\":8080\")\n}","new_string":"func main() {\n\tserve(\":9090\")\n}"},{"old_string":"// old","new_string":""}]}`))
		x.run(x.look())
		x.take(askedMsg{Question{Question: permit.Question{Agent: zero, Tool: "edit", Summary: "edit server.go", Subject: "server.go"}}})
	})
	everySize(t, family, "asks-elsewhere", func(x *show) {
		x.take(askedMsg{Question{Question: permit.Question{Agent: who("ada"), Tool: "bash", Subject: "ls"}}})
	})
	everySize(t, family, "interrupted", func(x *show) {
		x.s.say("ada", history.Interrupted, words("As I was say"))
		x.s.agents.States[who("ada")] = state.State{Word: state.Interrupted, Detail: "stopped by the user"}
		x.run(x.look())
		x.press("/switch ada", "enter")
	})
	everySize(t, family, "dead", func(x *show) {
		x.s.agents.All[1].Status, x.s.agents.All[1].EndReason, x.s.agents.All[1].EndedAt = agent.Dead, "killed by the user", clock.Add(-time.Minute).Local()
		x.run(x.look())
		x.press("/switch ada", "enter")
	})
	everySize(t, family, "log", func(x *show) {
		x.s.points = []Point{
			{Agent: zero, Label: "0", ID: 1, Kind: history.Fork, Text: "the workspace begins"},
			{Agent: zero, Label: "0", ID: 2, Kind: history.User, Text: "Please look at the tests"},
			{Agent: zero, Label: "0", ID: 7, Kind: history.Mark, Text: "fixed"},
			{Agent: zero, Label: "0", ID: 9, Kind: history.User, Text: "a wrong way", Gone: true},
			{Agent: zero, Label: "0", ID: 12, Kind: history.Rewind, Text: "to fixed"},
			{Agent: zero, Label: "0", ID: 14, Kind: history.Fork, Text: "ada"},
			{Agent: who("ada"), Label: "ada", ID: 15, Kind: history.Fork, Text: "ada begins"},
			{Agent: who("ada"), Label: "ada", ID: 16, Kind: history.User, Text: "Write the changelog.", Head: true},
		}
		x.press("/log", "enter", "up")
	})
	everySize(t, family, "notice", func(x *show) {
		event(x, loop.Event{Type: loop.TurnEnded, Agent: who("bob"), Outcome: &loop.Outcome{Text: "All is well.\nReally."}})
	})
	everySize(t, family, "trouble", func(x *show) {
		x.press("/nonsense", "enter")
	})
}
