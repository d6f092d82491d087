package cli

import (
	"strings"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// A person at a terminal sees each word once: as it comes in, and at the end only what is missing.
func TestAnAnswerIsShownOnceAsItComesIn(t *testing.T) {
	say := func(s string) loop.Event { return loop.Event{Type: loop.TextDelta, Text: s} }
	stored := loop.Event{Type: loop.Recorded, Entry: &history.Entry{Kind: history.Assistant}}
	for _, c := range []struct {
		name, answer, want string
		events             []loop.Event
	}{
		{"whole", "hello world", "hello world\n", []loop.Event{say("hello "), say("world"), stored}},
		{"with a line at its end", "hello\n", "hello\n", []loop.Event{say("hello\n"), stored}},
		{"the end comes late", "hello world", "hello world\n", []loop.Event{say("hello ")}},
		{"after a tool", "done", "I look.\ndone\n", []loop.Event{say("I look."), stored, {Type: loop.TurnStarted}, say("done"), stored}},
		{"said again", "good", "ba\ngood\n", []loop.Event{say("ba"), {Type: loop.Retrying}, say("good"), stored}},
		{"another answer", "other", "this\nother\n", []loop.Event{say("this"), stored}},
		{"nothing came in", "other", "other\n", nil},
		{"codes are shown, not obeyed", "a\x1b[2Jb", "a␛[2Jb\n", []loop.Event{say("a\x1b"), say("[2Jb"), stored}},
	} {
		var out strings.Builder
		v := &live{out: &out}
		for _, e := range c.events {
			v.take(e)
		}
		if rest, ok := v.rest(c.answer); ok {
			out.WriteString(rest)
		} else {
			out.WriteString(c.answer)
		}
		got := strings.TrimRight(out.String(), "\n") + "\n"
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
