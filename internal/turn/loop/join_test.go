package loop

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
)

func TestWhatCallsBringJoinsBehindTheirResults(t *testing.T) {
	look := device{"look", tool.Reads, func(context.Context, tool.Call) (tool.Answer, error) { return tool.Answer{Text: "seen"}, nil }}
	s := newStage(t, `{"steps": [{"call": "look", "args": {"n": 1}}, {"call": "look", "args": {"n": 2}}]}
{"steps": [{"call": "look", "args": {"n": 3}}]}
{"steps": [{"text": "ok"}]}`, look)
	var asked []string
	s.turn.Joins = func(_ context.Context, known iter.Seq[json.RawMessage], calls []tool.Call) ([]history.Draft, error) {
		for _, c := range calls {
			asked = append(asked, string(c.Args))
		}
		if len(slices.Collect(known)) > 0 {
			return nil, nil
		}
		d := says(history.System, "be careful here")
		d.Parts[0].Memo = json.RawMessage(`{"told":true}`)
		return []history.Draft{d}, nil
	}
	s.must()
	if got := strings.Join(asked, " "); got != `{"n": 1} {"n": 2} {"n": 3}` {
		t.Errorf("asked %s", got)
	}
	if log := s.log(); strings.Count(log, "be careful here") != 1 || !strings.Contains(log, "be careful here\nassistant") {
		t.Errorf("the history is\n%s", log)
	}
	second := s.requests[1].Messages
	if last := second[len(second)-1].Text(); last != "be careful here" {
		t.Errorf("the model reads %q last", last)
	}
}
