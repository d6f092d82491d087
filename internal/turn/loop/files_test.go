package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/shape"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

// notes is a Files that notes what it is told.
type notes struct {
	mu     sync.Mutex
	taken  int
	told   []string
	same   bool // nothing changes
	inCall bool
}

func (n *notes) note(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told = append(n.told, what)
}

func (n *notes) Take(context.Context) Taking {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken++
	if n.inCall {
		n.told = append(n.told, "taken in a call")
	}
	return took{n, n.taken}
}

func (n *notes) Begin() func() {
	n.note("begin")
	n.inCall = true
	return func() { n.note("end"); n.inCall = false }
}

type took struct {
	n  *notes
	at int
}

func (t took) Done(_ context.Context, when history.When) (history.Draft, bool) {
	t.n.note(fmt.Sprint(when))
	return history.NewState(history.State{Root: fmt.Sprint(t.at), When: when}), !t.n.same
}

// acting is a tool of an access.
type acting struct {
	name   string
	access tool.Access
	run    func()
}

func (a acting) Spec() tool.Spec {
	return tool.Spec{Name: a.name, Access: a.access, Args: shape.Object()}
}

func (a acting) Run(context.Context, tool.Call) (tool.Answer, error) {
	if a.run != nil {
		a.run()
	}
	return tool.Answer{Text: "ok"}, nil
}

func TestStatesStandBeforeTheFirstCallAndAfterEachBatch(t *testing.T) {
	n := &notes{}
	s := newStage(t, `{"steps": [{"call": "look", "args": {}}]}
{"steps": [{"call": "put", "args": {}}, {"call": "put", "args": {}}]}
{"steps": [{"call": "look", "args": {}}]}
{"steps": [{"call": "put", "args": {}}]}
{"steps": [{"text": "done"}]}`, acting{name: "look", access: tool.Reads}, acting{name: "put", access: tool.Writes})
	s.turn.Files = n
	s.must()
	var kinds []string
	for e := range s.book.QueryRange(t.Context(), history.Range{Agent: me}, history.Selection{}) {
		m := testkit.Must(e.Decode())(t)
		switch {
		case e.Kind == history.Files:
			kinds = append(kinds, "files "+string(m.Files.When)+" "+m.Files.Root)
		case e.Kind != history.Usage:
			kinds = append(kinds, string(e.Kind))
		}
	}
	want := []string{"user", "assistant", "tool_result", "files before 2", "assistant", "tool_result", "tool_result",
		"files after 3", "assistant", "tool_result", "assistant", "tool_result", "files after 5", "assistant"}
	if !slices.Equal(kinds, want) {
		t.Errorf("%q\nwant %q", kinds, want)
	}
	if told := strings.Join(n.told, " "); told != "before begin end begin end after begin end after" {
		t.Errorf("%s", told)
	}
}

func TestATurnThatOnlyReadsTellsNoState(t *testing.T) {
	n := &notes{}
	s := newStage(t, `{"steps": [{"call": "look", "args": {}}]}
{"steps": [{"text": "done"}]}`, acting{name: "look", access: tool.Reads})
	s.turn.Files = n
	s.must()
	if len(n.told) != 0 {
		t.Errorf("%q", n.told)
	}
}

func TestACallThatNobodyAnswersIsToldAllTheSame(t *testing.T) {
	n := &notes{}
	ctx, cancel := context.WithCancel(t.Context())
	s := newStage(t, `{"steps": [{"call": "put", "args": {}}]}`, acting{name: "put", access: tool.Commands, run: cancel})
	s.turn.Files = n
	if _, err := s.run(ctx); err == nil {
		t.Fatal("it was stopped")
	}
	if told := strings.Join(n.told, " "); told != "before begin end after" {
		t.Errorf("%s", told)
	}
}
