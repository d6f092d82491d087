package tui

import (
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/turn/loop"
)

// Esc closes what is in front, one after the other, and only then stops the turn. The tree is in front
// where there is no room beside the conversation.
func TestEscapeClosesBeforeItStops(t *testing.T) {
	for wide, first := range map[int]bool{80: true, 120: false} {
		x := perform(t, family(), wide, 30)
		stopped := func() bool { return slices.ContainsFunc(x.s.said, func(s string) bool { return s[:4] == "stop" }) }
		event(x, loop.Event{Type: loop.TurnStarted, Agent: who("zero")})
		x.press("ctrl+t", "ctrl+f", "tests")
		x.shows("find: tests", "4 agents")
		x.press("esc", "/fo")
		x.hides("find: tests")
		x.shows("/fork [--name NAME]", "4 agents")
		x.press("esc")
		x.hides("/fork [--name NAME]")
		if stopped() {
			t.Fatalf("%d columns: it was stopped too early: %q", wide, x.s.said)
		}
		x.shows("4 agents")
		x.press("esc")
		if first { // the tree, then the turn
			x.hides("4 agents")
		} else {
			x.shows("4 agents")
		}
		if stopped() == first {
			t.Errorf("%d columns: stopped: %v", wide, stopped())
		}
		x.press("esc")
		if !stopped() {
			t.Errorf("%d columns: it is not stopped: %q", wide, x.s.said)
		}
	}
}

// The second Ctrl-C leaves for as long as it stands there that it does.
func TestTheSecondCtrlCIsWaitedForWhileItIsOffered(t *testing.T) {
	x := perform(t, family(), 80, 30)
	now := clock
	x.o.Now = func() time.Time { return now }
	x.interrupt()
	x.shows("Press Ctrl+C again to quit")
	now = now.Add(noticeFor)
	was := x.note.number
	if x.interrupt(); x.note.number != was+1 { // it is gone, and offered again
		t.Error("it leaves long after it was offered")
	}
	now = now.Add(noticeFor - time.Millisecond)
	if leaves := x.interrupt(); leaves == nil || leaves() != tea.Quit() {
		t.Error("it stays")
	}
}
