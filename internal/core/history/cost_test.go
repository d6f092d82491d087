package history_test

import (
	"fmt"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

func say(text string) history.Draft {
	return history.Draft{Kind: history.User, Parts: []history.Part{{Type: history.Text, Text: text}}}
}

func TestAncestry1000DeepIsReadInOrder(t *testing.T) {
	const depth = 1000
	log := storetest.NewTreeLog()
	parent, last := id.Agent(""), id.Message(0)
	for i := range depth {
		a := id.Agent(fmt.Sprintf("a%d", i))
		log.Fork(parent, a, last)
		last = id.Message(2*i + 1)
		log.Append(a, last, say("in"))
		log.Append(a, last+1, say("not inherited"))
		parent = a
	}
	c := replay(t, log, parent)
	if len(c.Messages) != depth+1 { // the leaf keeps its second one
		t.Fatalf("%d messages", len(c.Messages))
	}
	for i, e := range c.Messages[:depth] {
		if e.ID != id.Message(2*i+1) {
			t.Fatalf("message %d has id %d", i, e.ID)
		}
	}
	tail, err := history.Tail(t.Context(), log, parent, 700)
	if err != nil || len(tail) != 700 || tail[0].ID != c.Messages[depth+1-700].ID {
		t.Errorf("tail: %d entries, %v", len(tail), err)
	}
}

func TestWhatIsNotInTheContextIsNotRead(t *testing.T) {
	log := storetest.NewTreeLog()
	log.Fork("", "root", 0)
	next := id.Message(0)
	add := func(d history.Draft) id.Message {
		next++
		log.Append("root", next, d)
		return next
	}
	many := func(n int) (first, last id.Message) {
		first = next + 1
		for range n {
			last = add(say("x"))
		}
		return first, last
	}
	many(1000)
	add(history.NewClear())
	kept, _ := many(10)
	many(1000)
	add(history.NewRewind(kept+9, ""))
	first, last := many(1000)
	compact := testkit.Must(history.NewCompact("short", first, last))(t)
	add(compact)
	many(5)
	log.Read()
	if c := replay(t, log, "root"); len(c.Messages) != 16 {
		t.Errorf("%d messages", len(c.Messages))
	}
	// Those, and the shaping entries twice: once to shape, once on the way.
	if n := log.Read(); n > 16+4 {
		t.Errorf("replay of 16 messages read %d entries", n)
	}
	if tail, err := history.Tail(t.Context(), log, "root", 3); err != nil || len(tail) != 3 {
		t.Errorf("tail: %v %v", tail, err)
	}
	if n := log.Read(); n > 3+2+1 { // and the shaping entries, and the clear behind which it ends
		t.Errorf("a tail of 3 read %d entries", n)
	}
}

// What shapes a context is read from its end, some at a time: all of it behind the newest clear, in
// order, and no more than a page of what stands before that.
func TestManyMarksAreReadBackToTheClear(t *testing.T) {
	for _, behind := range []int{0, 1, 63, 64, 65, 128, 300} {
		log := storetest.NewTreeLog()
		log.Fork("", "root", 0)
		next := id.Message(0)
		add := func(d history.Draft) {
			next++
			log.Append("root", next, d)
		}
		for range 1000 {
			add(history.Draft{Kind: history.Mark, Meta: history.Meta{Label: "before"}})
		}
		add(history.NewClear())
		wall := next
		for i := range behind {
			add(history.Draft{Kind: history.Mark, Meta: history.Meta{Label: fmt.Sprint("m", i)}})
		}
		log.Read()
		ranges, outline, err := history.Survey(t.Context(), log, "root")
		if err != nil || len(ranges) != 1 || ranges[0].Start != wall || len(outline.Marks()) != behind {
			t.Fatalf("%d: %v, %d marks, %v", behind, ranges, len(outline.Marks()), err)
		}
		for i, m := range outline.Marks() {
			if m.Label != fmt.Sprint("m", i) {
				t.Fatalf("%d: mark %d is %q", behind, i, m.Label)
			}
		}
		if read := log.Read(); read > int64(behind+64) {
			t.Errorf("%d: read %d", behind, read)
		}
	}
}
