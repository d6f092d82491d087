package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// What is said after a change is meant for the agent as the change leaves it.
func TestAMessageWaitsForWhatWasAskedBefore(t *testing.T) {
	for line, done := range map[string]string{
		"/effort high":                       "call effort ",
		"/mode edits":                        "call mode ",
		"/clear":                             "call clear ",
		"/mark here":                         "call mark ",
		"/rewind here":                       "call rewind ",
		"/config effort high":                "command config set -- ",
		"/permissions --remove 'bash(go *)'": "command rules --remove",
	} {
		x := perform(t, family(), 80, 24)
		enter := func(line string) tea.Cmd {
			x.press(line)
			x.offer.close()
			return x.follow(tea.KeyPressMsg{Code: tea.KeyEnter})
		}
		first, second := enter(line), enter("/rename zed")
		x.run(enter("go on"))
		if slices.ContainsFunc(x.s.said, func(s string) bool { return strings.Contains(s, "go on") }) {
			t.Fatalf("%s: the message went before it: %q", line, x.s.said)
		}
		x.shows("go on")
		x.run(second)
		x.run(first)
		at := func(what string) int {
			return slices.IndexFunc(x.s.said, func(s string) bool { return strings.Contains(s, what) })
		}
		if a, b, c := at(done), at("call rename"), at("go on"); a < 0 || b < 0 || c < max(a, b) {
			t.Errorf("%s: %q", line, x.s.said)
		}
	}
}

func TestAMessageBehindAChangeThatFailsIsGivenBack(t *testing.T) {
	for _, line := range []string{"/effort high", "/mode edits", "/clear", "/undo"} {
		x := perform(t, family(), 80, 24)
		x.s.err = errTest
		x.press(line)
		x.offer.close()
		first := x.follow(tea.KeyPressMsg{Code: tea.KeyEnter})
		x.press("go on", "enter")
		x.run(first)
		if got := x.now.input.Text(); got != "go on" {
			t.Errorf("%s: the prompt is %q, said was %q", line, got, x.s.said)
		}
	}
}
