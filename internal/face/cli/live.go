package cli

import (
	"io"
	"strings"

	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// live prints what an agent says while it comes in, for whoever sits at a terminal. A nil one
// prints nothing.
type live struct {
	out  io.Writer
	said strings.Builder // of the message that comes in
	last string          // the message before, whole
	open bool            // the line on the screen has no end yet
}

func (v *live) take(e loop.Event) {
	switch e.Type {
	case loop.TextDelta:
		v.said.WriteString(e.Text)
		io.WriteString(v.out, text.Safe(e.Text)) // what nobody reads is printed at the end, and fails there
		v.open = e.Text != "" && !strings.HasSuffix(e.Text, "\n") || e.Text == "" && v.open
	case loop.Recorded:
		if e.Entry != nil && e.Entry.Kind == history.Assistant {
			v.last = v.said.String()
			v.said.Reset()
		}
	case loop.Retrying, loop.TurnStarted:
		v.endLine()
		v.said.Reset() // it is said again
	}
}

// endLine ends the line before something else is written on the screen.
func (v *live) endLine() {
	if v == nil || !v.open {
		return
	}
	io.WriteString(v.out, "\n")
	v.open = false
}

// rest returns the part of an answer that is not on the screen yet; false: the answer is not the one shown last.
func (v *live) rest(answer string) (string, bool) {
	if v == nil {
		return "", false
	}
	shown := v.said.String()
	if shown == "" {
		shown = v.last
	}
	rest, ok := strings.CutPrefix(answer, shown)
	if shown == "" || !ok {
		v.endLine()
		return "", false
	}
	if !v.open && strings.TrimRight(rest, "\n") == "" {
		return "", true // the line was ended already
	}
	return rest, true
}
