package tui

import (
	"errors"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

func TestWhoLooksElsewhereIsTold(t *testing.T) {
	s := newStage()
	child := s.born("ada", "0")
	x := perform(t, s, 80, 24)
	var told []string
	x.o.Notify = func(_, what string) string { told = append(told, what); return "" }
	end := func(err error) {
		x.take(eventsMsg{{Type: loop.TurnEnded, Agent: child.ID, Outcome: &loop.Outcome{Text: "well\nmore"}, Err: err}})
	}
	ask := func() {
		x.take(askedMsg{Question{Question: permit.Question{Agent: child.ID, Tool: "bash", Summary: "ls"}, Answer: func(permit.Verdict) {}}})
	}
	end(nil)
	ask()
	if len(told) > 0 {
		t.Fatalf("who looks is told: %q", told)
	}
	x.take(tea.BlurMsg{})
	end(nil)
	end(errors.New("no"))
	end(fault.New(fault.Cancelled, "stopped"))
	ask()
	x.take(tea.FocusMsg{})
	end(nil)
	if want := []string{"ada is done: well", "ada failed: no", "ada needs approval: ls"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}
