package loop

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"

	"ramet/internal/history"
	"ramet/internal/tool"
)

// rememberer is a tool that keeps its arguments, and says what it recalls.
type rememberer struct {
	device
	recalled [][]string
}

func (k *rememberer) Recall(memos iter.Seq[json.RawMessage]) {
	var all []string
	for m := range memos {
		all = append(all, string(m))
	}
	k.recalled = append(k.recalled, all)
}

func TestMemosAreRecalledWhenATurnBegins(t *testing.T) {
	k := &rememberer{device: device{"look", tool.Reads, func(_ context.Context, c tool.Call) (tool.Answer, error) {
		return tool.Answer{Text: "x", Memo: string(c.Args)}, nil
	}}}
	s := newStage(t, `{"steps": [{"call": "look", "args": {"n": 1}}, {"call": "look", "args": {"n": 2}}]}
{"steps": [{"text": "ok"}]}
{"steps": [{"text": "again"}]}`, k)
	s.must()
	if _, err := s.Append(t.Context(), says(history.User, "more")); err != nil {
		t.Fatal(err)
	}
	_, s.c = s.book.replay(t)
	s.must()
	want := [][]string{nil, {`{"n":1}`, `{"n":2}`}}
	if !slices.EqualFunc(k.recalled, want, slices.Equal) {
		t.Errorf("%q, want %q", k.recalled, want)
	}
}
