package tui

import (
	"regexp"
	"strings"
	"testing"

	"ramet/internal/face/tui/markdown"
)

// With the theme of high contrast nothing on the screen is faint: no hint, no rule, no figure.
func TestHighContrastHasNothingFaint(t *testing.T) {
	faint := regexp.MustCompile("\x1b\\[(?:[013-9]|[34]9|;)*\\b2[;m]")
	for name, act := range map[string]func(*show){
		"conversation": func(x *show) {},
		"open":         func(x *show) { x.press("ctrl+o") },
		"tree":         func(x *show) { x.press("ctrl+t") },
		"find":         func(x *show) { x.press("ctrl+f", "test") },
		"menu":         func(x *show) { x.press("/") },
		"help":         func(x *show) { x.press("f1") },
		"home":         func(x *show) { x.home() },
		"question":     func(x *show) { asks(x); x.press("ctrl+p") },
	} {
		x := perform(t, crew(), 120, 40)
		x.theme = markdown.Dark()
		act(x)
		if lines := x.draw().lines; !faint.MatchString(strings.Join(lines, "\n")) {
			t.Errorf("%s: nothing is faint with the dark theme: this test sees nothing", name)
		}
		x.theme = markdown.Contrast()
		lines := x.draw().lines
		for _, l := range lines {
			if faint.MatchString(l) {
				t.Errorf("%s: %q", name, l)
			}
		}
	}
}
