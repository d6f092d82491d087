package history_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
)

// shelf is a log of two agents: kid was forked from top behind an entry.
type shelf struct {
	entries []history.Entry
	fork    id.Message
}

func (s *shelf) put(a id.Agent, k history.Kind, state *history.State) id.Message {
	return s.say(a, history.Draft{Kind: k, Meta: history.Meta{Files: state}})
}

func (s *shelf) say(a id.Agent, d history.Draft) id.Message {
	meta, _ := json.Marshal(d.Meta)
	content, _, _ := history.Encode(d.Parts)
	e := history.Entry{ID: id.Message(len(s.entries) + 1), Agent: a, Kind: d.Kind, Meta: meta, Content: content}
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

// The files at a message are those of its own turn: what a person changed after that turn, before a
// mark or before the next prompt, is in no state of it.
func TestAStateOfTheNextTurnIsNotThatOfThisOne(t *testing.T) {
	s := &shelf{}
	put := func(k history.Kind) id.Message { return s.put("top", k, nil) }
	calls := func() id.Message {
		return s.say("top", history.Draft{Kind: history.Assistant, Parts: []history.Part{{Type: history.ToolCall, CallID: "1", Name: "read", Args: json.RawMessage("{}")}}})
	}
	state := func(root string, when history.When) {
		s.put("top", history.Files, &history.State{Root: root, When: when})
	}
	want := map[id.Message]string{}
	at := func(root string, entries ...id.Message) {
		for _, e := range entries {
			want[e] = root
		}
	}
	at("a", put(history.User), put(history.Assistant), put(history.User)) // two turns that only talk: there is no earlier state
	at("a", calls(), put(history.ToolResult))
	state("a", history.BeforeCalls)
	at("a", calls())
	at("b", put(history.ToolResult))
	state("b", history.AfterCalls)
	at("b", put(history.Assistant), put(history.Usage))
	state("person", history.OnRequest)
	at("person", put(history.Mark))
	state("person 2", history.OnRequest)
	state("b", history.AfterRestore)
	at("b", put(history.Notice)) // a message that no person wrote begins the next turn
	at("b", put(history.Assistant))
	at("b", put(history.Notice), calls(), put(history.Interrupted))
	at("person 3", put(history.User), calls(), put(history.ToolResult))
	state("person 3", history.BeforeCalls)
	at("person 3", calls())
	at("c", put(history.ToolResult), put(history.ToolResult))
	state("c", history.AfterCalls)
	at("c", calls(), put(history.Assistant))
	at("c", put(history.User))
	at("d", put(history.User)) // the first prompt failed, and was repeated
	state("d", history.BeforeCalls)
	for e, root := range want {
		got, ok, err := history.StateAt(t.Context(), s, "top", e)
		if err != nil || !ok || got.Root != root {
			t.Errorf("at %d: %q, %v, %v; want %q", e, got.Root, ok, err, root)
		}
	}
}
