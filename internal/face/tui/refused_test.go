package tui

import (
	"strings"
	"testing"

	"ramet/internal/base/fault"
)

// A line that is refused can be mended where it stands, whoever refuses it: the terminal, a command
// of ramet, the kernel.
func TestALineThatIsRefusedStaysInThePrompt(t *testing.T) {
	near := fault.New(fault.NotFound, "there is no such word").WithHint("did you mean another?")
	for _, said := range []string{
		"/efort high", "/effort hgih", "/mode plna", "/rewind lable", "/model ofline", "/config them", "/config theme drak", "/key antropic",
		"/help forkk", "/filter-mail --from bpb", "/send bpb hello", "/switch bpb", "/kill adda", "/fork --driver cluade look", "/fork --effort hgih look",
		"/fork --model ofline look", "/import cluade", "/read-mail 99", "/rename a/b",
	} {
		x := perform(t, family(), 100, 30)
		x.s.err = near
		x.press(said)
		x.offer.close()
		x.press("enter")
		if got := x.now.input.Text(); got != said {
			t.Errorf("%s: the prompt is %q", said, got)
		}
		if got := x.screen(); !strings.Contains(got, "did you mean") {
			t.Errorf("%s: nobody says what was meant:\n%s", said, got)
		}
		x.s.err = nil
	}
	x := perform(t, family(), 100, 30) // what was typed since then is not disturbed
	x.s.err = near
	x.press("/rewind lable")
	x.offer.close()
	late := x.submit()
	x.press("next")
	x.run(late)
	if got := x.now.input.Text(); got != "next" {
		t.Errorf("the prompt is %q", got)
	}
	x = perform(t, family(), 100, 30) // a command that was understood, and failed, is over
	x.s.err = fault.New(fault.HistoryDamaged, "a link is wrong")
	x.press("/verify")
	x.offer.close()
	x.press("enter")
	if got := x.now.input.Text(); got != "" {
		t.Errorf("the prompt is %q", got)
	}
}
