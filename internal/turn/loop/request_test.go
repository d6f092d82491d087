package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
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

// request is what a step sends.
func request(c *Conversation, system []llm.Message) []llm.Message {
	return slices.Concat(system, c.Messages())
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
			case 1, 2, 3:
				system := slices.Clone(rapid.SampledFrom(systems).Draw(t, "system"))
				for i := range system {
					system[i].Parts = slices.Clone(system[i].Parts) // each turn makes them anew
				}
				got := request(c, system)
				if want := append(append([]llm.Message(nil), system...), c.Messages()...); !reflect.DeepEqual(got, want) {
					t.Fatalf("a request has\n%s\nand the conversation is\n%s", short(got), short(want))
				}
				out = append(out, handed{got, written(got)})
			default:
				d := anyDraft(t, b)
				if d.Kind == history.Rewind {
					d = history.NewClear()
				}
				testkit.Must(c.Add(context.Background(), b.writeFor(owners[who], d)...))(t)
			}
		}
		for _, h := range out {
			if now := written(h.list); now != h.then {
				t.Fatalf("a list was\n%s\nand became\n%s", h.then, now)
			}
		}
	})
}

// Forks go on and ask at the same time, while what was handed out is read.
func TestForksAskAtTheSameTime(t *testing.T) {
	b, c := long(t, 400)
	system := []llm.Message{llm.Say(llm.System, "S")}
	all := request(c, system)
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
				got := request(fork, system)
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

// A result that comes late is put in front of much that was sent already: what was sent stays, also that of
// another who has it.
func TestALateResultMakesAnotherList(t *testing.T) {
	const before, after = "u t:q | a a() | t a=interrupted: outcome unknown! | a t:x | u t:r", "u t:q | a a() | t a=Ra | a t:x | u t:r"
	for _, forked := range []bool{false, true} {
		b := newBook()
		_, c := b.replay(t)
		grows(t, c, b.write(says(history.User, "q"), calls("", "a"), says(history.Assistant, "x"), says(history.User, "r")))
		list, late := request(c, nil), c
		if forked {
			late, _ = c.Fork(c.Last())
		}
		grows(t, late, b.write(answers("a")))
		if got := short(request(late, nil)); got != after {
			t.Errorf("forked %v: %s", forked, got)
		}
		if got := short(list); got != before {
			t.Errorf("forked %v: what was sent became %s", forked, got)
		}
		if got := short(request(c, nil)); forked && got != before {
			t.Errorf("the other one became %s", got)
		}
	}
}
