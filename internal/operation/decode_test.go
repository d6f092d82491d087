package operation_test

import (
	"encoding/json"
	"errors"
	"testing"

	"ramet/internal/core/history"
	"ramet/internal/operation"
	"ramet/internal/testkit"
)

func TestDecode(t *testing.T) {
	const (
		http = operation.HTTP
		mcp  = operation.MCP
	)
	for _, c := range []struct {
		o          operation.Operation
		f          operation.Face
		text, want string // want is the input, or the error
	}{
		{&operation.Send, mcp, `{"to":"ada","text":"hi"}`, `{"to":"ada","text":"hi","from":"you"}`},
		{&operation.Send, mcp, `{"to":"ada","body":"hi"}`, `{"to":"ada","text":"hi","from":"you"}`},
		{&operation.Send, mcp, `{"to":"ada","body":"hi","text":"ho"}`, "body: body and text are the same field"},
		{&operation.Send, mcp, `{"to":"ada","txt":"hi"}`, `txt: send has no field "txt" (text)`},
		{&operation.Send, mcp, `{"to":7,"text":"hi"}`, `{"to":"7","text":"hi","from":"you"}`},
		{&operation.Send, http, `{"text":7}`, "text: text must be a string"},
		{&operation.Send, http, `[]`, ": must be an object"},
		{&operation.Fork, mcp, `{"agent":"bob"}`, `{"agent":"bob","start":"task"}`},
		{&operation.Fork, mcp, `{"role":"rev","clean":true,"worktree":true}`, `{"role":"rev","worktree":true,"clean":true,"start":"task"}`},
		{&operation.Fork, http, `{"agent":"rev","at":0,"name":"","prompt":null}`, `{"role":"rev","start":"turn","state":true}`},
		{&operation.Fork, http, `{"at":-1}`, "at: at must be from 1 to 9007199254740991"},
		{&operation.Fork, mcp, `{"start":"soon"}`, "start: start must be one of later, turn, task"},
		{&operation.Ps, mcp, ``, `{}`},
	} {
		in := c.o.New()
		var path []string
		if c.f == http { // as their routes have it
			path = []string{"agent", "to"}
		}
		got := ""
		if err := operation.Decode(c.o, c.f, []byte(c.text), in, path...); err != nil {
			e, ok := errors.AsType[*operation.FieldError](err)
			if !ok {
				t.Fatalf("%s: %v", c.text, err)
			}
			got = e.Field + ": " + e.Fault.Message
			if e.Suggestion != "" {
				got += " (" + e.Suggestion + ")"
			}
		} else {
			b, _ := json.Marshal(in)
			got = string(b)
		}
		if got != c.want && (len(got) < len(c.want) || got[:len(c.want)] != c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A child that is forked with a task has its prompt from its birth, whatever happens next.
func TestAForkedTaskHasItsPrompt(t *testing.T) {
	w := newWorkspace(t)
	in := &operation.ForkInput{}
	testkit.OK(t, operation.Decode(&operation.Fork, operation.MCP, []byte(`{"prompt": "count"}`), in))
	out := testkit.Must(operation.Fork.Call(t.Context(), operation.Within(w.Workspace), *in))(t)
	for e, err := range w.Store.QueryRange(t.Context(), history.Range{Agent: out.Child.ID}, history.Selection{}) {
		testkit.OK(t, err)
		if e.Kind == history.User && e.Content != nil {
			return
		}
	}
	t.Error("no prompt in its history")
}
