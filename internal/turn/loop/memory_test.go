package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/turn/tool"
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

// Each fork leaves a segment. Memos are read in one pass through them, however many there are.
func TestMemosOfAnAgentThatForkedOften(t *testing.T) {
	b := newBook()
	_, c := b.replay(t)
	var want []string
	for i := range 50 {
		result := answers("a")
		result.Parts[0].Memo = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
		grows(t, c, b.write(says(history.User, "q"), calls("", "a"), result))
		if _, ok := c.Fork(c.Last()); !ok {
			t.Fatal("not forked")
		}
		want = append(want, string(result.Parts[0].Memo))
	}
	if n := len(c.segments()); n < 50 {
		t.Fatal(n, "segments")
	}
	var got []string
	for m := range c.memos() {
		got = append(got, string(m))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
