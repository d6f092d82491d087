package tui

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/face/tui/markdown"
)

// refusedCall is a conversation with a call that somebody refused.
func refusedCall() *stage {
	s := family()
	s.say("zero", history.Assistant, called("c9", "bash", `{"command":"rm -rf build"}`))
	e := s.say("zero", history.ToolResult, result("c9", "bash", "The user does not permit this."))
	all := s.entries[e.Agent]
	all[len(all)-1].About.Permission = &history.Permission{Answer: history.Refused, By: history.ByPerson, Actor: &history.Actor{Who: "lea", Face: "terminal"}}
	s.say("zero", history.Assistant, words("Then I leave it."))
	return s
}

func TestSearchFindsWhoRefusedACall(t *testing.T) {
	x := perform(t, refusedCall(), 80, 24)
	x.press("ctrl+f", "refused by lea")
	x.shows("1 of 1", "rm -rf build", "refused by lea")
	x.hides("No match")
}

// A word that was found is marked in the line as it stands: its ground and its colours stay.
func TestAMarkKeepsTheLine(t *testing.T) {
	f := &search{on: true, typed: "Fix"}
	for in, want := range map[string]string{
		"\x1b[1;48;5;236mand fix it\x1b[m": "\x1b[1;48;5;236mand \x1b[m\x1b[m\x1b[7mfix\x1b[m\x1b[1;48;5;236m it\x1b[m",
		"a \x1b[32mpre\x1b[mfix, fix":      "a \x1b[32mpre\x1b[m\x1b[m\x1b[7mfix\x1b[m\x1b[32m\x1b[m, \x1b[m\x1b[7mfix\x1b[m\x1b[32m\x1b[m",
		"f\x1b[1mi\x1b[mx":                 "\x1b[m\x1b[7mfix\x1b[m\x1b[1m\x1b[m",
		"nothing":                          "nothing",
	} {
		lines := []string{in}
		f.mark(lines)
		if lines[0] != want {
			t.Errorf("%q: %q, want %q", in, lines[0], want)
		}
	}
	for _, theme := range []markdown.Theme{markdown.Dark(), markdown.Light(), markdown.Contrast()} {
		x := perform(t, family(), 80, 60)
		x.theme = theme
		ground := "\x1b[1;" + string(theme.Ground) + "m"
		count := func() (n int) {
			for _, l := range x.draw().lines {
				if strings.Contains(l, ground) {
					n++
				}
			}
			return n
		}
		before := count()
		x.press("ctrl+f", "tests")
		if after := count(); before == 0 || after != before {
			t.Errorf("%d lines have the ground %q, %d while the word is marked", before, theme.Ground, after)
		}
	}
}

// The word is on the screen, however long the block is that holds it.
func TestSearchShowsTheWordInALongBlock(t *testing.T) {
	s := family()
	var long strings.Builder
	for i := range 300 {
		fmt.Fprintf(&long, "line %d of it\n", i)
	}
	s.say("zero", history.Assistant, called("c9", "bash", `{"command":"seq"}`))
	s.say("zero", history.ToolResult, result("c9", "bash", long.String()))
	s.say("zero", history.User, words(long.String()))
	s.say("zero", history.Assistant, words(strings.Repeat("And so on.\n\n", 40)))
	x := perform(t, s, 80, 24)
	x.shows("And so on.")
	x.press("ctrl+f", "line 177 of")
	x.shows("line 177 of it", "1 of 2")
	x.press("enter")
	x.shows("line 177 of it", "2 of 2")
}
