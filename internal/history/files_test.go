package history_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"ramet/internal/chain"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
)

// shelf is a log of two agents: kid was forked from top behind an entry.
type shelf struct {
	entries []history.Entry
	fork    id.Message
}

func (s *shelf) put(a id.Agent, k history.Kind, state *history.State) id.Message {
	meta, _ := json.Marshal(history.Meta{Files: state})
	e := history.Entry{ID: id.Message(len(s.entries) + 1), Agent: a, Kind: k, Meta: meta}
	s.entries = append(s.entries, e)
	return e.ID
}

func (s *shelf) Lineage(_ context.Context, leaf id.Agent) ([]history.Ancestor, error) {
	if leaf == "kid" {
		return []history.Ancestor{{Agent: "kid", Parent: "top", ForkMessage: s.fork}, {Agent: "top"}}, nil
	}
	return []history.Ancestor{{Agent: "top"}}, nil
}

func (s *shelf) FindClear(context.Context, id.Agent, history.Bound) (id.Message, bool, error) {
	return 0, false, nil
}

func (s *shelf) QueryRange(_ context.Context, r history.Range, sel history.Selection) iter.Seq2[history.Entry, error] {
	var out []history.Entry
	for _, e := range s.entries {
		if e.Agent == r.Agent && r.Holds(e.ID) && (!sel.States || e.Kind == history.Files) {
			out = append(out, e)
		}
	}
	return func(yield func(history.Entry, error) bool) {
		for i := range out {
			e := out[i]
			if sel.Newest > 0 {
				if i >= sel.Newest {
					return
				}
				e = out[len(out)-1-i]
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *shelf) Entry(_ context.Context, m id.Message) (history.Entry, error) {
	if m < 1 || int(m) > len(s.entries) {
		return history.Entry{}, fault.New(fault.NotFound, "no message %d", m)
	}
	return s.entries[m-1], nil
}

func (s *shelf) Blob(context.Context, chain.Hash) ([]byte, error) { return nil, nil }

func TestTheStateAtAMessage(t *testing.T) {
	s := &shelf{}
	state := func(a id.Agent, root string, when history.When) id.Message {
		return s.put(a, history.Files, &history.State{Root: root, When: when})
	}
	asked := s.put("top", history.User, nil)
	state("top", "a", history.BeforeCalls)
	called := s.put("top", history.Assistant, nil)
	result := s.put("top", history.ToolResult, nil)
	after := state("top", "b", history.AfterCalls)
	said := s.put("top", history.Assistant, nil)
	s.put("top", history.Files, &history.State{None: "no space", When: history.BeforeCalls})
	s.fork = s.put("top", history.Mark, nil)
	s.put("top", history.User, nil)
	state("top", "later", history.AfterCalls)
	task := s.put("kid", history.User, nil)
	state("kid", "c", history.BeforeCalls)
	done := s.put("kid", history.Assistant, nil)
	for _, c := range []struct {
		who  id.Agent
		at   id.Message
		want string
	}{
		{"top", asked, "a"},  // taken before the first call
		{"top", called, "a"}, // what the files were when the model said this
		{"top", result, "b"}, // what it did
		{"top", after, "b"},
		{"top", said, "b"},
		{"top", 0, "later"},
		{"kid", s.fork, "b"}, // what the parent did later is not the child's
		{"kid", task, "c"},
		{"kid", done, "c"},
		{"kid", 0, "c"},
		{"kid", result, "b"},
	} {
		got, ok, err := history.StateAt(t.Context(), s, c.who, c.at)
		if err != nil || !ok || got.Root != c.want {
			t.Errorf("%s at %d: %q, %v, %v; want %q", c.who, c.at, got.Root, ok, err, c.want)
		}
	}
	if got, ok, err := history.StateBefore(t.Context(), s, "kid", 12); err != nil || !ok || got.Root != "b" {
		t.Errorf("before the child's first: %q, %v, %v", got.Root, ok, err)
	}
	if _, ok, err := history.StateAt(t.Context(), &shelf{}, "top", 0); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}
