package history_test

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
	"ramet/internal/testkit/storetest"
)

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
