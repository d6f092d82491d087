package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/bus"
	"ramet/internal/base/id"
	"ramet/internal/turn/loop"
)

// The answer stands below all that its turn did, however late the reader of the events is, and
// the tasks of children go on below it.
func TestTheAnswerStandsBelowItsTurn(t *testing.T) {
	var out bytes.Buffer // what both streams print, as on a terminal
	w := &watcher{l: &Line{Streams: Streams{Stdout: &out, Stderr: &out}}, enough: func() {}}
	var events bus.Bus[loop.Event]
	a := id.NewAgent()
	w.follow(t.Context(), a, &events)
	for i := range 1000 {
		events.Publish(loop.Event{Type: loop.CallStarted, Agent: a, Tool: "read", Text: fmt.Sprint("read ", i)})
	}
	events.Publish(loop.Event{Type: loop.TurnEnded, Agent: a})
	if err := w.said(loop.Outcome{Text: "the answer"}); err != nil {
		t.Error(err)
	}
	events.Publish(loop.Event{Type: loop.Note, Agent: a, Text: "a child goes on"})
	w.end()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1002 || lines[999] != "read 999" || lines[1000] != "the answer" || lines[1001] != "a child goes on" {
		t.Errorf("%d lines, of them %q", len(lines), lines[max(len(lines)-3, 0):])
	}
}
