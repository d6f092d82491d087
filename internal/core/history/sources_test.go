package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

const family = `
	root ─ m1 ─ clear ─ m3 ─ m4 ─ m5 ─ clear ─ m7
	                         └─ m8 ─ m9 (child)
	                            └─ m10 (grandchild)`

// The test list of startup-replay.md that is not an example of Examples. Where
// the source says end_id=0 for "no limit", the bound is absent (Trap 1).
func TestStartupReplayList(t *testing.T) {
	log := storetest.DrawTree(t, family)
	clear := func(a id.Agent, within history.Bound) any {
		m, found, err := log.FindClear(t.Context(), a, within)
		testkit.OK(t, err)
		if !found {
			return "none"
		}
		return m
	}
	rangeOf := func(t *testing.T, r history.Range) string {
		var out []history.Entry
		for e, err := range log.QueryRange(t.Context(), r, history.Selection{}) {
			testkit.OK(t, err)
			if e.Kind.Reaches() {
				out = append(out, e)
			}
		}
		return storetest.TreeTexts(t, out)
	}
	equal := func(name string, got, want any) {
		t.Run(name, func(t *testing.T) {
			if got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	equal("find_clear returns correct message ID", clear("root", history.NoLimit), id.Message(6))
	equal("find_clear returns 0 when no clear exists (corrected: absent)", clear("child", history.NoLimit), "none")
	equal("find_clear respects max_id limit", clear("root", history.UpTo(5)), id.Message(2))
	equal("find_clear with a limit exactly at the clear", clear("root", history.UpTo(2)), id.Message(2))
	equal("find_clear with limit 0 finds nothing (Trap 1)", clear("root", history.UpTo(0)), "none")
	equal("query_range returns correct message subset",
		rangeOf(t, history.Range{Agent: "root", Start: 3, End: history.UpTo(5)}), "m4 m5")
	equal("query_range with start_id=0 returns from beginning",
		rangeOf(t, history.Range{Agent: "root", End: history.UpTo(3)}), "m1 m3")
	equal("query_range with end_id=0 returns to end (corrected: end absent)",
		rangeOf(t, history.Range{Agent: "root", Start: 3}), "m4 m5 m7")
	equal("query_range with end 0 returns nothing (Trap 1)",
		rangeOf(t, history.Range{Agent: "root", End: history.UpTo(0)}), "")
	equal("full replay produces correct chronological order", texts(t, log, "grandchild"), "m3 m4 m8 m10")
	t.Run("an unknown agent is not found", func(t *testing.T) {
		if _, err := history.Replay(t.Context(), log, "nobody"); !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	})
}

func TestForkHistoryList(t *testing.T) {
	log := storetest.DrawTree(t, family)
	lineage := testkit.Must(log.Lineage(t.Context(), "grandchild"))(t)
	t.Run("fork records fork_message_id", func(t *testing.T) {
		if lineage[0].ForkMessage != 8 || lineage[1].ForkMessage != 4 {
			t.Error(lineage)
		}
	})
	t.Run("child can access parent's pre-fork messages", func(t *testing.T) {
		if got := texts(t, log, "child"); got != "m3 m4 m8 m9" {
			t.Error(got)
		}
	})
	t.Run("child's post-fork messages are separate", func(t *testing.T) {
		if got := texts(t, log, "root"); got != "m7" {
			t.Error(got)
		}
	})
	t.Run("conversation replay includes inherited history", func(t *testing.T) {
		c := replay(t, log, "child")
		if c.Messages[0].Agent != "root" || c.Messages[3].Agent != "child" {
			t.Error(c.Messages)
		}
	})
	t.Run("multi-level ancestry (grandchild accessing grandparent's context)", func(t *testing.T) {
		if c := replay(t, log, "grandchild"); c.Messages[0].Agent != "root" {
			t.Error(c.Messages)
		}
	})
	t.Run("clear event boundary (stops ancestry traversal)", func(t *testing.T) {
		ranges, err := history.BuildRanges(t.Context(), log, "grandchild")
		if got := written(ranges); err != nil || got != "{root, 2, 4} {child, 0, 8} {grandchild, 0, -}" {
			t.Error(got, err)
		}
	})
	t.Run("ancestor chain collection and reversal", func(t *testing.T) {
		var names []id.Agent
		for _, a := range lineage {
			names = append(names, a.Agent)
		}
		if !slices.Equal(names, []id.Agent{"grandchild", "child", "root"}) {
			t.Error(names)
		}
	})
	t.Run("forward replay produces correct chronological order", func(t *testing.T) {
		c := replay(t, log, "grandchild")
		if !slices.IsSortedFunc(c.Messages, func(a, b history.Entry) int { return int(a.ID - b.ID) }) {
			t.Error(c.Messages)
		}
	})
}

// written gives ranges in the notation of the sources, - for no limit.
func written(ranges []history.Range) string {
	var out []string
	for _, r := range ranges {
		end := "-"
		if m, limited := r.End.Limit(); limited {
			end = m.String()
		}
		out = append(out, fmt.Sprintf("{%s, %d, %s}", r.Agent, r.Start, end))
	}
	return strings.Join(out, " ")
}

func replay(tb testing.TB, log history.Log, leaf id.Agent) *history.Context {
	tb.Helper()
	c, err := history.Replay(tb.Context(), log, leaf)
	if err != nil {
		tb.Fatalf("replay of %s: %v", leaf, err)
	}
	return c
}

func texts(tb testing.TB, log history.Log, leaf id.Agent) string {
	tb.Helper()
	return storetest.TreeTexts(tb, replay(tb, log, leaf).Messages)
}

func TestExamples(t *testing.T) {
	for _, x := range storetest.Examples() {
		t.Run(x.Name, func(t *testing.T) {
			log := storetest.DrawTree(t, x.Drawing)
			for leaf, want := range x.Ranges {
				ranges, err := history.BuildRanges(t.Context(), log, id.Agent(leaf))
				if got := written(ranges); err != nil || got != want {
					t.Errorf("ranges of %s: %s, want %s (%v)", leaf, got, want, err)
				}
			}
			for leaf, want := range x.Context {
				if got := texts(t, log, id.Agent(leaf)); got != want {
					t.Errorf("context of %s: %q, want %q", leaf, got, want)
				}
				tails(t, log, id.Agent(leaf))
			}
			if t.Failed() {
				t.Log(x.Drawing)
			}
		})
	}
}

// tails compares Tail(n) with the last n of Replay, for every n.
func tails(tb testing.TB, log *storetest.TreeLog, leaf id.Agent) {
	tb.Helper()
	all := replay(tb, log, leaf).Messages
	for n := -1; n <= len(all)+1; n++ {
		tail := testkit.Must(history.Tail(tb.Context(), log, leaf, n))(tb)
		want := all[len(all)-min(max(n, 0), len(all)):]
		if storetest.TreeTexts(tb, tail) != storetest.TreeTexts(tb, want) {
			tb.Errorf("tail %d of %s: %s, want %s", n, leaf, storetest.TreeTexts(tb, tail), storetest.TreeTexts(tb, want))
		}
	}
}
