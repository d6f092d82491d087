package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// long is a history of so many messages, in whole exchanges.
func long(t tester, n int) (*book, *Conversation) {
	b := newBook()
	for range n / 4 {
		b.write(says(history.User, "q"), calls("", "a"), answers("a"), says(history.Assistant, "x"))
	}
	_, c := b.replay(t)
	return b, c
}

// grows adds entries to a conversation.
func grows(t *testing.T, c *Conversation, entries []history.Entry) {
	t.Helper()
	if ok, err := c.Add(t.Context(), entries...); !ok || err != nil {
		t.Fatal(ok, err)
	}
}

// handed is a list that somebody got, and what stood in it then.
type handed struct {
	list []llm.Message
	then string
}

func written(list []llm.Message) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Whatever the history and whoever forks, a request is the system's words and the messages, and no list that
// was handed out changes afterwards.
func TestAnyRequestIsWhatTheMessagesAre(t *testing.T) {
	systems := [][]llm.Message{nil, {llm.Say(llm.System, "S")}, {llm.Say(llm.System, "S"), llm.Say(llm.System, "T")}, {llm.Say(llm.System, "U")}}
	rapid.Check(t, func(t *rapid.T) {
		b := newBook()
		_, live := b.replay(t)
		talks, owners := []*Conversation{live}, []id.Agent{me}
		var out []handed
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			who := rapid.IntRange(0, len(talks)-1).Draw(t, "who")
			c := talks[who]
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				at := max(c.shaped, id.Message(rapid.Int64Range(0, int64(b.next)-1).Draw(t, "at")))
				fork, ok := c.Fork(at)
				if !ok {
					t.Fatalf("not forked at %d", at)
				}
				child := id.Agent(fmt.Sprintf("child-%d", len(talks)))
				b.Fork("", child, 0)
				talks, owners = append(talks, fork), append(owners, child)
			case 1:
				c.rest()
			case 2, 3, 4:
				system := slices.Clone(rapid.SampledFrom(systems).Draw(t, "system"))
				for i := range system {
					system[i].Parts = slices.Clone(system[i].Parts) // each turn makes them anew
				}
				got := c.request(system)
				if want := append(append([]llm.Message{}, system...), c.Messages()...); !reflect.DeepEqual(got, want) {
					t.Fatalf("a request has\n%s\nand the conversation is\n%s", short(got), short(want))
				}
				out = append(out, handed{got, written(got)})
			default:
				d := anyDraft(t, b)
				if d.Kind == history.Rewind {
					d = history.NewClear()
				}
				if _, err := c.Add(context.Background(), b.writeFor(owners[who], d)...); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, h := range out {
			if now := written(h.list); now != h.then {
				t.Fatalf("a list was\n%s\nand became\n%s", h.then, now)
			}
		}
	})
}

// asker answers with a call for so many requests, and then with a word. It keeps what it was asked.
type asker struct {
	calls int
	asked []llm.Request
}

func (a *asker) Stream(_ context.Context, r llm.Request) iter.Seq[llm.Event] {
	a.asked = append(a.asked, r)
	part, reason := llm.Part{Type: llm.Text, Text: "done"}, llm.Stop
	if n := len(a.asked); n <= a.calls {
		part = llm.Part{Type: llm.ToolCall, CallID: fmt.Sprint("look_", n), Name: "look", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
		reason = llm.ToolCalls
	}
	return slices.Values([]llm.Event{{Type: llm.Done, Part: &part}, {Type: llm.Finished, Finish: llm.Finish{Reason: reason}}})
}

// All requests of a turn, and of the next one, are one list that grows: nothing of a long history is copied
// for a step.
func TestAStepCopiesNothingOfTheHistory(t *testing.T) {
	s := newStage(t, `{"steps": [{"text": "unused"}]}`, echo("look", tool.Reads))
	s.book, s.c = long(t, 10_000)
	model := &asker{calls: 20}
	s.turn.Provider = model
	for range 2 {
		entries, err := s.Append(t.Context(), says(history.User, "go"))
		if err != nil {
			t.Fatal(err)
		}
		grows(t, s.c, entries)
		if _, err := Run(t.Context(), s.turn, s.c); err != nil {
			t.Fatal(err)
		}
	}
	if len(model.asked) != 22 {
		t.Fatal(len(model.asked))
	}
	for i, r := range model.asked {
		if &r.Messages[0] != &model.asked[0].Messages[0] {
			t.Errorf("request %d is a copy", i)
		}
		if cap(r.Messages) != len(r.Messages) {
			t.Errorf("request %d can be written behind", i)
		}
	}
}

// A fork of a long conversation that has a turn holds no more of it in the end than before.
func TestAForkKeepsNoListOfItsOwn(t *testing.T) {
	s := newStage(t, `{"steps": [{"text": "unused"}]}`)
	b, c := long(t, 10_000)
	s.book = b
	c.request(s.turn.System)
	fork, _ := c.Fork(c.Last())
	entries, err := s.Append(t.Context(), says(history.User, "go"))
	if err != nil {
		t.Fatal(err)
	}
	grows(t, fork, entries)
	model := &asker{}
	s.turn.Provider = model
	if _, err := Run(t.Context(), s.turn, fork); err != nil {
		t.Fatal(err)
	}
	list := c.request(s.turn.System)
	if &list[0] != &model.asked[0].Messages[0] {
		t.Error("the first request of the fork was a copy, though nobody had gone on")
	}
	if c.rest(); c.sheet.list == nil || fork.sheet.list != nil {
		t.Error("who has the messages keeps the list, and who inherited them does not")
	}
}

// Two that begin alike and go on both get what is theirs; only the second copies.
func TestTheFirstThatGoesOnHasThePlace(t *testing.T) {
	b, c := long(t, 100)
	system := []llm.Message{llm.Say(llm.System, "S")}
	before := c.request(system)
	fork, _ := c.Fork(c.Last())
	grows(t, fork, b.write(says(history.User, "of the fork")))
	grows(t, c, b.write(says(history.User, "of the parent")))
	first, second := fork.request(system), c.request(system)
	if &first[0] != &before[0] || &second[0] == &before[0] {
		t.Error("the first copies, or the second does not")
	}
	if a, b := first[len(first)-1].Text(), second[len(second)-1].Text(); len(first) != len(second) || a != "of the fork" || b != "of the parent" {
		t.Error(len(first), len(second), a, b)
	}
}

// Forks go on and ask at the same time, while what was handed out is read.
func TestForksAskAtTheSameTime(t *testing.T) {
	b, c := long(t, 400)
	system := []llm.Message{llm.Say(llm.System, "S")}
	all := c.request(system)
	want := written(all)
	var work sync.WaitGroup
	for i := range 8 {
		fork, ok := c.Fork(c.Last())
		if !ok {
			t.Fatal("not forked")
		}
		name := fmt.Sprint("fork ", i)
		var entries []history.Entry
		for range 20 {
			entries = append(entries, b.write(says(history.User, name))...)
		}
		work.Go(func() {
			for i, e := range entries {
				if ok, err := fork.Add(t.Context(), e); !ok || err != nil {
					t.Error(ok, err)
				}
				got := fork.request(system)
				if len(got) != len(all)+i+1 || written(got[:len(all)]) != want {
					t.Error("a fork lost its beginning")
				}
				for _, m := range got[len(all):] {
					if m.Text() != name {
						t.Errorf("%s reads %s", name, m.Text())
					}
				}
			}
		})
	}
	work.Wait()
	if written(all) != want {
		t.Error("what was handed out changed")
	}
}

// What a request costs does not grow with what stands before it.
func TestARequestCostsWhatIsNew(t *testing.T) {
	system := []llm.Message{llm.Say(llm.System, "S")}
	cost := func(n int) int64 {
		b, c := long(t, n)
		c.request(system)
		var before, after runtime.MemStats
		total := int64(0)
		for range 50 {
			grows(t, c, b.write(says(history.User, "q"), says(history.Assistant, "x")))
			runtime.ReadMemStats(&before)
			c.request(system)
			runtime.ReadMemStats(&after)
			total += int64(after.TotalAlloc - before.TotalAlloc)
		}
		return total / 50
	}
	short, long := cost(1000), cost(20_000)
	if message := int64(unsafe.Sizeof(llm.Message{})); long > short+1000*message {
		t.Errorf("a request takes %d bytes behind 20,000 messages, %d behind 1,000", long, short)
	}
}

// A result that comes late is put in front of much that was sent already: what was sent stays, also that of
// another who has it.
func TestALateResultMakesAnotherList(t *testing.T) {
	const before, after = "u t:q | a a() | t a=interrupted: outcome unknown! | a t:x | u t:r", "u t:q | a a() | t a=Ra | a t:x | u t:r"
	for _, forked := range []bool{false, true} {
		b := newBook()
		_, c := b.replay(t)
		grows(t, c, b.write(says(history.User, "q"), calls("", "a"), says(history.Assistant, "x"), says(history.User, "r")))
		list, late := c.request(nil), c
		if forked {
			late, _ = c.Fork(c.Last())
		}
		grows(t, late, b.write(answers("a")))
		if got := short(late.request(nil)); got != after {
			t.Errorf("forked %v: %s", forked, got)
		}
		if got := short(list); got != before {
			t.Errorf("forked %v: what was sent became %s", forked, got)
		}
		if got := short(c.request(nil)); forked && got != before {
			t.Errorf("the other one became %s", got)
		}
	}
}
