package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

// entryModel is an entry of a conversation as a reader should find it.
type entryModel struct {
	id   id.Message
	kind history.Kind
	text string
	gone bool
}

// Pages, labels, the timeline and search tell of a conversation with marks, rewinds, clears and forks what a model of
// it tells.
func TestReadersOfAConversationAgreeWithAModel(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(4) {
		dice := rand.New(rand.NewPCG(seed, 5))
		w := open(t, nil)
		w.Config.Files = "no"
		a := child(t, w, "0", "a")
		var all []entryModel // since the last clear
		for n := range 40 {
			var e history.Entry
			var err error
			text := fmt.Sprintf("word%d.", n)
			switch roll := dice.IntN(12); {
			case roll < 6:
				kind := []history.Kind{history.User, history.Assistant, history.Note}[dice.IntN(3)]
				e, err = w.History().Append(ctx, a, kind, text)
			case roll < 9:
				text = fmt.Sprintf("label%d", dice.IntN(3))
				e, err = w.History().Mark(ctx, a, text)
			case roll == 9 && len(all) > 0:
				to := all[dice.IntN(len(all))]
				if to.gone {
					continue
				}
				e, err = w.History().RewindTo(ctx, a, to.id)
				text = "to " + to.id.String()
				for i := range all {
					all[i].gone = all[i].gone || all[i].id > to.id
				}
			case roll == 10:
				all = append(all, entryModel{kind: history.Fork})
				a = child(t, w, string(a.ID), "")
				all[len(all)-1].id = a.ForkMessage
				continue
			case roll == 11 && n%3 == 0:
				all = nil
				_, err = w.History().Clear(ctx, a)
				testkit.OK(t, err)
				continue
			default:
				continue
			}
			testkit.OK(t, err)
			all = append(all, entryModel{e.ID, e.Kind, text, false})
		}
		var said []entryModel
		var labels []string
		for _, m := range all {
			if m.kind != history.Fork {
				said = append(said, m)
			}
			if m.kind == history.Mark {
				labels = append(slices.DeleteFunc(labels, func(l string) bool { return l == m.text }), m.text)
			}
		}
		slices.Reverse(labels)
		if got, err := w.Agents().Labels(ctx, a.ID); err != nil || !slices.Equal(got, labels) {
			t.Errorf("seed %d: labels %q, want %q, %v", seed, got, labels, err)
		}
		var read []Entry
		for before := id.Message(0); ; {
			p, err := w.History().Page(ctx, a.ID, Span{Before: before, Limit: 3})
			if err != nil || len(p.Entries) > 3 || p.More && len(p.Entries) != 3 {
				t.Fatalf("seed %d: %+v, %v", seed, p, err)
			}
			read = append(slices.Clone(p.Entries), read...)
			if !p.More {
				break
			}
			before = p.Entries[0].ID
		}
		read = slices.DeleteFunc(read, func(e Entry) bool { return e.Kind == history.Fork || e.Kind == history.Clear })
		if len(read) != len(said) {
			t.Fatalf("seed %d: %d entries, want %d", seed, len(read), len(said))
		}
		for i, e := range read {
			m := said[i]
			if e.ID != m.id || e.Kind != m.kind || e.Kind.Reaches() && (e.Gone != m.gone || history.Plain(e.Parts) != m.text) {
				t.Errorf("seed %d: %+v, want %+v", seed, e, m)
			}
			if found, err := w.History().Search(ctx, Search{Words: strings.ToUpper(m.text), Of: a.ID}); e.Kind.Reaches() && (err != nil || len(found.Found) != 1 || found.Found[0].ID != m.id) {
				t.Errorf("seed %d: %q is found %+v, %v", seed, m.text, found, err)
			}
		}
		points := testkit.Must(w.History().Timeline(ctx, a.ID))(t)
		told := map[id.Message]Point{}
		for i, p := range points {
			if told[p.ID] = p; p.Head != (i == len(points)-1) || i > 0 && points[i-1].ID >= p.ID {
				t.Errorf("seed %d: point %d is %+v", seed, i, p)
			}
		}
		for _, m := range said {
			p, there := told[m.id]
			if want := m.kind == history.User || m.kind.Shapes(); there != want || want && (p.Text != m.text || p.Gone != (m.gone && m.kind == history.User)) {
				t.Errorf("seed %d: the timeline tells %+v of %+v", seed, p, m)
			}
		}
	}
}

// A wait is over when one agent, or all of them, have nothing under way, or when a letter came.
func TestWaiting(t *testing.T) {
	w := open(t, nil)
	ctx := t.Context()
	busy, idle := child(t, w, "0", "busy"), child(t, w, "0", "idle")
	testkit.Must(w.Store.Acquire(ctx, busy.ID, "elsewhere:1:000000000000", time.Hour))(t)
	zero := found(t, w, "0")
	for name, c := range map[string]struct {
		wait Wait
		over bool
	}{
		"one of two": {Wait{Agents: []agent.Agent{busy, idle}}, true}, "all of two": {Wait{Agents: []agent.Agent{busy, idle}, All: true}, false},
		"all that rest": {Wait{Agents: []agent.Agent{idle}, All: true}, true}, "one at work": {Wait{Agents: []agent.Agent{busy}}, false},
		"no letter": {Wait{Mail: &zero}, false}, "a letter": {Wait{Mail: &idle}, true}, "at work, with a letter": {Wait{Agents: []agent.Agent{busy}, Mail: &idle}, true},
	} {
		if c.wait.Mail == &idle {
			testkit.Must(w.Mail().Send(ctx, Letter{To: idle, Body: "x"}))(t)
		}
		got, err := w.Turns().Wait(ctx, c.wait, 0)
		if err != nil || got.Over != c.over || len(got.Agents) != len(c.wait.Agents) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := w.Turns().Wait(As(ctx, idle.ID), Wait{Mail: &busy}, 0); !fault.Is(err, fault.Denied) {
		t.Errorf("for another's letters: %v", err)
	}
	if _, err := w.Turns().Wait(ctx, Wait{Agents: []agent.Agent{{ID: id.NewAgent()}}}, 0); !fault.Is(err, fault.NotFound) {
		t.Errorf("without an agent: %v", err)
	}
}
