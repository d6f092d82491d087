package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/operation"
)

func slow(gate chan struct{}) tool {
	return tool{name: "slow", long: true, args: shape.Object(), run: func(ctx context.Context, _ *Server, _ Caller, _ json.RawMessage) (json.RawMessage, error) {
		select {
		case <-gate:
			return json.RawMessage(`{"done":true}`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// A call that takes too long is a handle, which is good for whoever got it; what it does goes
// on when the caller has gone.
func TestALongCallBecomesAHandle(t *testing.T) {
	s := New(t.Context(), Options{Patience: time.Millisecond})
	wait := waitTool().run
	gate, own, other := make(chan struct{}), id.NewAgent(), id.NewAgent()
	call, hangUp := context.WithCancel(t.Context())
	answer, err := s.within(call, own, slow(gate), nil)
	hangUp()
	var p Pending
	if err != nil || json.Unmarshal(answer, &p) != nil || !p.Pending || p.Tool != "slow" {
		t.Fatalf("%s %v", answer, err)
	}
	args, _ := json.Marshal(map[string]any{"handle": p.Handle})
	again, err := wait(t.Context(), s, own, args)
	if err != nil || string(again) != string(answer) {
		t.Fatalf("%s %v", again, err)
	}
	if _, err := wait(t.Context(), s, other, args); !fault.Is(err, fault.NotFound) {
		t.Errorf("another caller: %v", err)
	}
	close(gate)
	s.o.Patience = time.Minute
	for range 2 { // and it can be asked for again
		if done, err := wait(t.Context(), s, own, args); err != nil || string(done) != `{"done":true}` {
			t.Fatalf("%s %v", done, err)
		}
	}
}

// What ended is dropped after an hour, or where there are too many; what is under way is not.
func TestHandlesAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	h := handles{now: func() time.Time { return now }}
	first := &pending{done: make(chan struct{})}
	if err := h.add(first); err != nil {
		t.Fatal(err)
	}
	h.finish(first, nil, nil)
	for range maxHandles {
		if err := h.add(&pending{done: make(chan struct{})}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.find("", first.handle); !fault.Is(err, fault.NotFound) {
		t.Errorf("the oldest that ended is still there: %v", err)
	}
	if err := h.add(&pending{done: make(chan struct{})}); !fault.Is(err, fault.Conflict) {
		t.Errorf("too many are under way: %v", err)
	}
	now = now.Add(2 * handleTime)
	if len(h.open) != maxHandles {
		t.Errorf("%d", len(h.open))
	}
}

// A tool of an operation's name is derived from it.
func TestNoToolDescribesAnOperationAgain(t *testing.T) {
	for _, c := range []Caller{"", id.NewAgent()} {
		for _, one := range tools(c) {
			o := operation.Named(one.name)
			if o != nil && !bytes.Equal(one.args.Brief(), operation.Shape(o, operation.MCP).Brief()) {
				t.Errorf("the tool %s is made by hand, and there is an operation of that name", one.name)
			}
			if o != nil && o.Describe().Faces&operation.MCP == 0 {
				t.Errorf("the operation %s does not have MCP among its faces", one.name)
			}
		}
	}
}
