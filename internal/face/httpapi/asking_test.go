package httpapi

import (
	"context"
	"encoding/json"
	"testing"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// A question about a file says what would be written into it.
func TestAQuestionShowsWhatWouldBeWritten(t *testing.T) {
	f := newFloor(t, "")
	s := opened(t, f)
	w := s.watch(t, "", "")
	patch := "@@ -1 +1 @@\n-a\n+b\n"
	for _, c := range []struct{ tool, call, args, patch, removed, added string }{
		{"write", "c1", `{"path":"a.go","content":"package a\n"}`, "", "", "package a\n"},
		{"edit", "c2", `{"path":"a.go","old_string":"a","new_string":"b"}`, "", "a", "b"},
		{"edit", "c3", `{"path":"a.go","old_string":"a","new_string":"b"}`, patch, "", ""},
		{"bash", "c4", `{"command":"ls"}`, "", "", ""},
	} {
		e := history.Draft{Kind: history.Assistant, Parts: []history.Part{{Type: history.ToolCall, CallID: c.call, Name: c.tool, Args: json.RawMessage(c.args)}}}
		if _, err := f.store.Append(t.Context(), f.zero.ID, agent.Passing(), e); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			f.Asks.Ask(ctx, permit.Question{Agent: f.zero.ID, CallID: c.call, Tool: c.tool, Subject: "a.go", Patch: c.patch})
		}()
		w.until(isType(loop.Asking, f.zero.ID))
		var list AskList
		s.good(t, "GET", "/api/v1/permissions", nil, 200, &list)
		got := Change{}
		if len(list.Asks) == 1 && list.Asks[0].Change != nil {
			got = *list.Asks[0].Change
		}
		if got != (Change{c.patch, c.removed, c.added}) || len(list.Asks) != 1 {
			t.Errorf("%s: %+v", c.tool, list)
		}
		stop()
		<-over
	}
}
