package history_test

import (
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit/storetest"
)

func TestARewindReachesTheLineageBehindTheWallAndNothingElse(t *testing.T) {
	log := storetest.DrawTree(t, `
		root ─ m1 ─ clear(m2) ─ m3 ─ mark(x) ─ m5 ─ m8
		                             │         └─ m9 (other)
		                             └─ m6 ─ m7 (child)`)
	for _, c := range []struct {
		leaf   id.Agent
		target id.Message
		code   fault.Code // empty: allowed
		says   string
	}{
		{"child", 7, "", ""},
		{"child", 6, "", ""},
		{"child", 4, "", ""},
		{"child", 3, "", ""},
		{"child", 2, "", ""}, // the clear: the empty context just behind it
		{"child", 1, fault.Conflict, "message 1 is after the clear 2"},
		{"child", 5, fault.NotFound, "not in the history of this agent"}, // the parent's future
		{"child", 9, fault.NotFound, "not in the history of this agent"}, // a sibling's
		{"child", 77, fault.NotFound, "no message 77"},
		{"root", 6, fault.NotFound, "not in the history of this agent"}, // a child's
		{"root", 8, "", ""},
		{"root", 1, fault.Conflict, "after the clear"},
	} {
		err := history.Lookup(t.Context(), log, c.leaf, c.target)
		if c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s to %d: %v, want %q", c.leaf, c.target, err, c.code)
		} else if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s to %d: %q, want %q", c.leaf, c.target, err, c.says)
		}
	}
}

func TestMarksAreListedBehindTheWall(t *testing.T) {
	log := storetest.DrawTree(t, `
		root ─ mark(gone) ─ clear ─ mark(a) ─ m4 ─ mark(b) ─ mark(later)
		                                           └─ mark(a) ─ m8 (child)`)
	o := replay(t, log, "child").Outline
	if got := o.Marks(); len(got) != 3 || got[0].Label != "a" || got[1].Label != "b" || got[2].ID != 7 {
		t.Error(got)
	}
	for label, want := range map[string]id.Message{"a": 7, "b": 5, "": 7, "gone": 0, "later": 0} {
		if m, ok := o.Mark(label); m.ID != want || ok != (want != 0) {
			t.Errorf("mark %q: %v %v, want %d", label, m, ok, want)
		}
	}
	if o.Wall() != 2 {
		t.Errorf("wall %d", o.Wall())
	}
}

func TestOrderIsByIdWhateverTheClockSays(t *testing.T) {
	moment := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, clock := range map[string]func(id.Message) time.Time{
		"equal":    func(id.Message) time.Time { return moment },
		"backward": func(m id.Message) time.Time { return moment.Add(-time.Duration(m) * time.Hour) },
		"zigzag":   func(m id.Message) time.Time { return moment.Add(time.Duration(m*m%7) * time.Hour) },
	} {
		t.Run(name+" timestamps", func(t *testing.T) {
			for _, x := range storetest.Examples() {
				log := storetest.DrawTree(t, x.Drawing)
				log.Retime(clock)
				for leaf, want := range x.Context {
					if got := texts(t, log, id.Agent(leaf)); got != want {
						t.Errorf("%s: context of %s: %q, want %q", x.Name, leaf, got, want)
					}
				}
			}
		})
	}
}

// A shaping entry that cannot be applied is damage, not a silent no.
func TestImpossibleShapesAreDamage(t *testing.T) {
	meta := func(k history.Kind, m history.Meta) history.Draft { return history.Draft{Kind: k, Meta: m} }
	for name, d := range map[string]history.Draft{
		"rewind behind the wall":         meta(history.Rewind, history.Meta{Target: "1"}),
		"rewind to itself":               meta(history.Rewind, history.Meta{Target: "9"}),
		"rewind ahead":                   meta(history.Rewind, history.Meta{Target: "10"}),
		"rewind to no number":            meta(history.Rewind, history.Meta{Target: "x"}),
		"rewind to nothing":              meta(history.Rewind, history.Meta{}),
		"rewind below zero":              meta(history.Rewind, history.Meta{Target: "-1"}),
		"compact behind the wall":        meta(history.Compact, history.Meta{StartID: "1", EndID: "4"}),
		"compact of the wall":            meta(history.Compact, history.Meta{StartID: "2", EndID: "4"}),
		"compact backwards":              meta(history.Compact, history.Meta{StartID: "7", EndID: "6"}),
		"compact of itself":              meta(history.Compact, history.Meta{StartID: "6", EndID: "9"}),
		"compact of nothing":             meta(history.Compact, history.Meta{}),
		"compact of half a summary":      meta(history.Compact, history.Meta{StartID: "4", EndID: "7"}),
		"compact of the end of one":      meta(history.Compact, history.Meta{StartID: "7", EndID: "99999999999999999999"}),
		"compact of the inside of a one": meta(history.Compact, history.Meta{StartID: "4", EndID: "4"}),
		"keeps what it leaves":           meta(history.Compact, history.Meta{StartID: "3", EndID: "7", Keep: []string{"8"}}),
		"keeps what is gone":             meta(history.Compact, history.Meta{StartID: "3", EndID: "7", Keep: []string{"4"}}),
		"keeps and replaces nothing":     meta(history.Compact, history.Meta{Keep: []string{"7"}, Short: []string{"8"}}),
		"keeps out of order":             meta(history.Compact, history.Meta{StartID: "7", EndID: "8", Keep: []string{"8", "7"}}),
		"shortens what is gone":          meta(history.Compact, history.Meta{Short: []string{"5"}}),
		"shortens itself":                meta(history.Compact, history.Meta{Short: []string{"9"}}),
		"shortens what is not a number":  meta(history.Compact, history.Meta{Short: []string{"x"}}),
		"shortens behind the wall":       meta(history.Compact, history.Meta{Short: []string{"1"}}),
	} {
		t.Run(name, func(t *testing.T) {
			log := storetest.DrawTree(t, `root ─ m1 ─ clear ─ m3 ─ m4 ─ m5 ─ compact(m3..m5) ─ m7 ─ m8`)
			before := replay(t, log, "root")
			e := log.Append("root", 9, d)
			if _, err := before.Extend(e); !fault.Is(err, fault.HistoryDamaged) || !strings.Contains(err.Error(), "agent root message 9") {
				t.Errorf("extend: %v", err)
			}
			if _, err := history.Replay(t.Context(), log, "root"); !fault.Is(err, fault.HistoryDamaged) {
				t.Errorf("replay: %v", err)
			}
			// The refusal changed nothing.
			next := history.Entry{ID: 10, Agent: "root", Kind: history.Rewind, Meta: []byte(`{"target":"8"}`)}
			if _, err := before.Extend(next); err != nil {
				t.Errorf("extend after a refusal: %v", err)
			}
		})
	}
}
