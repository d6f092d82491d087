package history_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

// world is a log, the naive model of it, and the live contexts that a kernel
// would hold.
type world struct {
	log   *storetest.TreeLog
	model *storetest.TreeModel
	live  map[id.Agent]*history.Context
	names []id.Agent
	heads map[id.Agent]id.Message
	last  id.Message
}

func newWorld() *world {
	w := &world{log: storetest.NewTreeLog(), model: storetest.NewTreeModel("root"), live: map[id.Agent]*history.Context{"root": {}},
		names: []id.Agent{"root"}, heads: map[id.Agent]id.Message{}}
	w.log.Fork("", "root", 0)
	return w
}

func (w *world) pick(t *rapid.T) id.Agent { return rapid.SampledFrom(w.names).Draw(t, "agent") }

// append writes an entry and tells the live context, as a kernel does.
func (w *world) append(t *rapid.T, a id.Agent, d history.Draft) {
	w.last++
	e := w.log.Append(a, w.last, d)
	w.heads[a] = w.last
	fresh, err := w.live[a].Extend(e)
	if err != nil {
		t.Fatalf("extend: %v", err)
	}
	if !fresh {
		w.live[a] = w.replay(t, a)
	}
}

func (w *world) replay(t *rapid.T, a id.Agent) *history.Context {
	c, err := history.Replay(context.Background(), w.log, a)
	if err != nil {
		t.Fatalf("replay of %s: %v", a, err)
	}
	return c
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append": func(t *rapid.T) {
			a := w.pick(t)
			k := rapid.SampledFrom(history.Kinds()).Draw(t, "kind")
			if k == history.Rewind || k == history.Compact {
				k = history.User
			}
			d := history.Draft{Kind: k}
			if k == history.Mark {
				d.Meta.Label = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label")
			}
			w.append(t, a, d)
			w.model.Append(a, w.last, k, d.Meta.Label)
		},
		"fork": func(t *rapid.T) {
			if len(w.names) == 5 { // few agents with long lives find more
				t.Skip("enough")
			}
			parent := w.pick(t)
			child := id.Agent(fmt.Sprintf("a%d", len(w.names)))
			w.log.Fork(parent, child, w.heads[parent])
			w.model.Fork(parent, child)
			w.names = append(w.names, child)
			w.live[child] = w.replay(t, child)
		},
		"rewind": func(t *rapid.T) {
			a := w.pick(t)
			reachable := w.model.Reachable(a)
			if len(reachable) == 0 {
				t.Skip("nothing to go back to")
			}
			target := rapid.SampledFrom(reachable).Draw(t, "target")
			w.append(t, a, history.NewRewind(target, ""))
			if !w.model.Rewind(a, w.last, target) {
				t.Fatalf("the model cannot go back to %d", target)
			}
		},
		"compact": func(t *rapid.T) {
			a := w.pick(t)
			first := id.Message(rapid.Int64Range(1, int64(w.last)+1).Draw(t, "first"))
			end := id.Message(rapid.Int64Range(int64(first), int64(w.last)+2).Draw(t, "end"))
			// Of what the agent has seen; ids of strangers in between are gaps.
			if end > w.heads[a] || !w.model.MayCompact(a, first, end) {
				t.Skip("no stretch of its context")
			}
			keep := w.some(t, a, first, end)
			w.append(t, a, history.Draft{Kind: history.Compact,
				Meta: history.Meta{StartID: first.String(), EndID: end.String(), Keep: history.IDs(keep)}})
			w.model.Compact(a, w.last, first, end, keep...)
		},
		"shorten": func(t *rapid.T) {
			a := w.pick(t)
			short := w.some(t, a, 1, w.last)
			if len(short) == 0 {
				t.Skip("nothing to shorten")
			}
			w.append(t, a, history.Draft{Kind: history.Compact, Meta: history.Meta{Short: history.IDs(short)}})
			w.model.Shorten(a, w.last, short...)
		},
		"": w.check,
	}
}

// some are a few messages of a context.
func (w *world) some(t *rapid.T, a id.Agent, first, end id.Message) []id.Message {
	var out []id.Message
	for _, i := range w.model.Context(a) {
		if !i.Summary && i.ID >= first && i.ID <= end && rapid.Bool().Draw(t, "this one") {
			out = append(out, i.ID)
		}
	}
	return out
}

// check compares all three opinions for every agent.
func (w *world) check(t *rapid.T) {
	for _, a := range w.names {
		c := w.replay(t, a)
		if !storetest.SameTree(w.model.Context(a), c.Messages) {
			t.Fatalf("replay of %s: %v, model: %v", a, ids(c.Messages), w.model.Context(a))
		}
		if !slices.Equal(ids(w.live[a].Messages), ids(c.Messages)) {
			t.Fatalf("live %s: %v, replay: %v", a, ids(w.live[a].Messages), ids(c.Messages))
		}
		if !slices.Equal(w.live[a].Outline.Marks(), c.Outline.Marks()) || w.live[a].Outline.Wall() != c.Outline.Wall() {
			t.Fatalf("live %s has other marks or another wall", a)
		}
		short := c.Outline.Short()
		for _, i := range w.model.Context(a) {
			if !i.Summary && short[i.ID] != i.Short {
				t.Fatalf("%s: message %d is short: %v, model: %v", a, i.ID, short[i.ID], i.Short)
			}
		}
		for _, label := range []string{"", "x", "y"} {
			got, ok := c.Outline.Mark(label)
			if want, found := w.model.Marked(a, label); ok != found || got.ID != want {
				t.Fatalf("%s: mark %q is %v, model: %d", a, label, got, want)
			}
		}
		n := rapid.IntRange(0, len(c.Messages)+1).Draw(t, "n")
		tail, err := history.Tail(context.Background(), w.log, a, n)
		if err != nil || !slices.Equal(ids(tail), ids(c.Messages[len(c.Messages)-min(n, len(c.Messages)):])) {
			t.Fatalf("tail %d of %s: %v, %v", n, a, ids(tail), err)
		}
		w.everyEntry(t, a, c)
		w.membership(t, a, c)
	}
}

// membership asks of every entry whether it is in the context.
func (w *world) membership(t *rapid.T, a id.Agent, c *history.Context) {
	in := testkit.Must(history.Membership(context.Background(), w.log, a))(t)
	lineage := testkit.Must(w.log.Lineage(context.Background(), a))(t)
	end := history.NoLimit
	for _, up := range lineage {
		for e := range w.log.QueryRange(context.Background(), history.Range{Agent: up.Agent, End: end}, history.Selection{}) {
			if want := slices.Contains(ids(c.Messages), e.ID); in(e) != want {
				t.Fatalf("%s: message %d of %s is in its context: %v, replay says %v", a, e.ID, up.Agent, in(e), want)
			}
		}
		end = history.UpTo(up.ForkMessage)
	}
	var played []history.Entry
	for e, err := range history.Play(context.Background(), w.log, a) {
		testkit.OK(t, err)
		played = append(played, e)
	}
	if !slices.Equal(ids(played), ids(c.Messages)) {
		t.Fatalf("%s: play gives %v, replay %v", a, ids(played), ids(c.Messages))
	}
}

// everyEntry feeds an outline with all entries, not only the shaping ones.
func (w *world) everyEntry(t *rapid.T, a id.Agent, c *history.Context) {
	ranges := testkit.Must(history.BuildRanges(context.Background(), w.log, a))(t)
	var whole history.Outline
	if wall := ranges[0].Start; wall > 0 {
		testkit.OK(t, whole.Apply(history.Entry{ID: wall, Kind: history.Clear, Meta: []byte(`{}`)}))
	}
	for _, r := range ranges {
		for e, err := range w.log.QueryRange(context.Background(), r, history.Selection{}) {
			if err == nil {
				err = whole.Apply(e)
			}
			testkit.OK(t, err)
		}
	}
	surveyed, _, err := history.Survey(context.Background(), w.log, a)
	if err != nil || !slices.Equal(surveyed, ranges) {
		t.Fatalf("%s: surveyed %v, built %v: %v", a, surveyed, ranges, err)
	}
	if !slices.EqualFunc(whole.Spans(), c.Outline.Spans(), func(a, b history.Span) bool {
		return a.Start == b.Start && a.End == b.End && (a.Summary == nil) == (b.Summary == nil)
	}) {
		t.Fatalf("%s: all entries give %v, the shaping ones %v", a, whole.Spans(), c.Outline.Spans())
	}
}

// manyChecks: these take little time each, and the odd ones are rare.
func manyChecks(t *testing.T) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		return
	}
	before := flag.Lookup("rapid.checks").Value.String()
	t.Cleanup(func() { flag.Set("rapid.checks", before) })
	checks := "60"
	if testkit.SoakOn() {
		checks = "3000"
	}
	testkit.OK(t, flag.Set("rapid.checks", checks))
}

func ids(list []history.Entry) []id.Message {
	out := make([]id.Message, len(list))
	for i, e := range list {
		out[i] = e.ID
	}
	return out
}

func TestReplayEqualsTheNaiveModelAndTheLiveContext(t *testing.T) {
	manyChecks(t)
	rapid.Check(t, func(t *rapid.T) { t.Repeat(newWorld().actions()) })
}

func TestCopiesOfAnOutlineAreIndependent(t *testing.T) {
	var o history.Outline
	apply := func(o *history.Outline, m id.Message, k history.Kind, meta string) {
		testkit.OK(t, o.Apply(history.Entry{ID: m, Kind: k, Meta: []byte(meta)}))
	}
	for m := range id.Message(20) {
		apply(&o, m+1, history.Mark, `{"label":"`+strconv.Itoa(int(m))+`"}`)
	}
	left, right := o, o
	apply(&left, 21, history.Mark, `{"label":"left"}`)
	apply(&left, 22, history.Rewind, `{"target":"3"}`)
	apply(&right, 21, history.Mark, `{"label":"right"}`)
	apply(&right, 23, history.Rewind, `{"target":"5"}`)
	if m, _ := left.Mark(""); m.Label != "left" {
		t.Errorf("left has %q", m.Label)
	}
	if s := left.Spans(); s[0].End != history.UpTo(3) {
		t.Errorf("left has %v", s)
	}
	if len(o.Marks()) != 20 || len(o.Spans()) != 1 {
		t.Error("the original changed")
	}
}

func TestARedactionMakesALiveContextStale(t *testing.T) {
	log := storetest.DrawTree(t, `root ─ m1 ─ m2`)
	c := replay(t, log, "root")
	fresh, err := c.Extend(history.Entry{ID: 3, Agent: "root", Kind: history.Redact, Meta: []byte(`{"target":"1"}`)})
	if err != nil || fresh {
		t.Errorf("fresh %v, %v: the live context still holds what was deleted", fresh, err)
	}
}

func FuzzParts(f *testing.F) {
	for _, seed := range []string{"", "null", "[]", "[null]", `[{"type":"text","text":"x"}]`, `[{"type":"image","blob":"","size":-1}]`,
		`[{"blob":"00"}]`, `[{"args":{}}]`, `{"type":"text"}`, "[[[[", "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		parts, err := history.Entry{Agent: "a", ID: 1, Content: content}.Parts()
		if err != nil {
			if !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("unreadable content is %s", fault.CodeOf(err))
			}
			return
		}
		history.Plain(parts)
		testkit.OK(t, history.Fill(parts, func(chain.Hash) ([]byte, error) { return []byte("blob"), nil }))
		again, blobs, err := history.Encode(parts)
		if err != nil {
			return // arguments that are no JSON
		}
		_ = blobs
		if _, err := (history.Entry{Content: again}).Parts(); err != nil {
			t.Errorf("what was written is not read: %v", err)
		}
	})
}

// FuzzOutline feeds hostile meta: whatever it says, the outline refuses it as
// damage or stays a list of spans in order.
func FuzzOutline(f *testing.F) {
	f.Add(byte(0), `{"target":"1"}`, `{"start_id":"1","end_id":"2"}`)
	f.Add(byte(1), `{"target":"-9223372036854775808"}`, `{"start_id":"9223372036854775807","end_id":"9223372036854775807"}`)
	f.Add(byte(2), `{"target":7}`, `null`)
	f.Add(byte(3), `[]`, `{"start_id":"1","end_id":"9223372036854775807"}`)
	f.Add(byte(4), `{"label":"\ud800"}`, ``)
	kinds := []history.Kind{history.Rewind, history.Compact, history.Mark, history.Clear, history.User}
	f.Fuzz(func(t *testing.T, order byte, one, two string) {
		var o history.Outline
		last := id.Message(0)
		for i := range 8 {
			meta := one
			if i%2 == 1 {
				meta = two
			}
			last += id.Message(1 + i%3)
			e := history.Entry{ID: last, Agent: "a", Kind: kinds[(int(order)+i*int(order%7))%len(kinds)], Meta: []byte(meta)}
			if _, err := e.Decode(); err != nil && !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("unreadable meta is %s", fault.CodeOf(err))
			}
			if err := o.Apply(e); err != nil && !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("a bad entry is %s", fault.CodeOf(err))
			}
			spans := o.Spans()
			for n, s := range spans {
				end, limited := s.End.Limit()
				if limited != (n < len(spans)-1) || limited && (end < s.Start || spans[n+1].Start < end) {
					t.Fatalf("spans %v", spans)
				}
			}
		}
	})
}
