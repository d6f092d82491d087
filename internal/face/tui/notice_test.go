package tui

import (
	"strings"
	"testing"

	"ramet/internal/turn/permit"
)

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
