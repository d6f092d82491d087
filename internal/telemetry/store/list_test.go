package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
)

// pages reads a list to its end.
func pages(tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, s *Store, f telemetry.Filter) (out []telemetry.Record) {
	tb.Helper()
	for {
		page, next, err := s.List(context.Background(), f)
		testkit.OK(tb, err)
		out = append(out, page...)
		if next == "" {
			return out
		}
		if len(page) == 0 || f.Limit > 0 && len(page) != f.Limit {
			tb.Fatalf("a page of %d, and another follows", len(page))
		}
		f.Cursor = next
	}
}

func ids(records []telemetry.Record) (out []string) {
	for _, r := range records {
		out = append(out, r.RunID)
	}
	return out
}

func TestFilters(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		clock := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		s.now = func() time.Time { clock = clock.Add(time.Second); return clock }
		for _, n := range []telemetry.New{plain(t, 1, ""), plain(t, 2, "run-1"), plain(t, 3, "run-1"), sample(t, 4)} {
			create(t, s, n)
		}
		second := time.Date(2026, 5, 1, 0, 0, 2, 0, time.UTC)
		start := func(n int) time.Time { return time.Date(2026, 1, 2, 3, 4, n, 0, time.UTC) }
		for _, c := range []struct {
			filter telemetry.Filter
			want   string
		}{
			{telemetry.Filter{}, "4 3 2 1"},
			{telemetry.Filter{AgentName: "a1"}, "1"},
			{telemetry.Filter{AgentName: "a' OR 1=1 --"}, ""},
			{telemetry.Filter{RunID: "run-2"}, "2"},
			{telemetry.Filter{ParentRunID: "run-1"}, "3 2"},
			{telemetry.Filter{TraceID: "trace-4"}, "4"},
			{telemetry.Filter{Status: telemetry.Failure}, "4"},
			{telemetry.Filter{Status: telemetry.Running, JobType: telemetry.Worker, ParentRunID: "run-1", AgentName: "a2"}, "2"},
			{telemetry.Filter{JobType: telemetry.LLMCall}, "4"},
			{telemetry.Filter{CreatedBefore: second}, "1"},
			{telemetry.Filter{CreatedAfter: second}, "4 3"},
			{telemetry.Filter{StartFrom: start(2)}, "3 2"},
			{telemetry.Filter{StartTo: start(2)}, "4 2 1"},
			{telemetry.Filter{StartFrom: start(2), StartTo: start(2)}, "2"},
		} {
			for limit := range 4 {
				c.filter.Limit = limit
				got := strings.ReplaceAll(strings.Join(ids(pages(t, s, c.filter)), " "), "run-", "")
				if got != c.want {
					t.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
				}
			}
		}
		if _, _, err := s.List(t.Context(), telemetry.Filter{Cursor: "x"}); !fault.Is(err, fault.InvalidField) {
			t.Error(err)
		}
	})
}

// What was there when the reading began comes once, whatever is created meanwhile.
func TestPagesUnderInserts(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s, other := p.open(t), p.open(t)
		const before = 100
		for n := range before {
			create(t, s, plain(t, n, ""))
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for n := 1000 * (g + 1); ; n++ {
					select {
					case <-stop:
						return
					default:
						create(t, other, plain(t, n, ""))
					}
				}
			})
		}
		for range 5 {
			seen := map[string]int{}
			got := ids(pages(t, s, telemetry.Filter{Limit: 7}))
			for _, id := range got {
				seen[id]++
			}
			for n := range before {
				if seen[fmt.Sprintf("run-%d", n)] != 1 {
					t.Errorf("run-%d came %d times", n, seen[fmt.Sprintf("run-%d", n)])
				}
			}
			if len(seen) != len(got) {
				t.Errorf("%d records, %d of them different", len(got), len(seen))
			}
		}
		close(stop)
		wg.Wait()
	})
}

func TestTree(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		call := sample(t, 5)
		call.ParentRunID = "run-3"
		// The children arrive before their parents.
		create(t, s, call, plain(t, 3, "run-2"), plain(t, 4, "run-2"), plain(t, 9, "run-8"), plain(t, 2, "run-1"), plain(t, 1, ""))
		tree, err := s.Tree(t.Context(), eventID(1))
		testkit.OK(t, err)
		if got := draw(tree); got != "run-1(run-2(run-3(run-5) run-4))" {
			t.Error(got)
		}
		want := telemetry.Sums{Records: 5, Calls: 1, InputTokens: 10, OutputTokens: 5, TotalTokens: 15, CostUSD: 0.25, DurationMS: 1321}
		if tree.Sums != want {
			t.Errorf("%+v", tree.Sums)
		}
		if tree, err = s.Tree(t.Context(), eventID(4)); err != nil || draw(tree) != "run-4" || tree.Children == nil {
			t.Error(draw(tree), err)
		}
		// A circle: 1 below 4.
		testkit.Must(s.Patch(t.Context(), eventID(1), parsePatch(t, `{"parent_run_id": "run-4"}`)))(t)
		if tree, err = s.Tree(t.Context(), eventID(1)); err != nil || draw(tree) != "run-1(run-2(run-3(run-5) run-4))" {
			t.Error(draw(tree), err)
		}
		if tree, err = s.Tree(t.Context(), eventID(2)); err != nil || draw(tree) != "run-2(run-3(run-5) run-4(run-1))" || tree.Sums.Records != 5 {
			t.Error(draw(tree), err)
		}
	})
}

func draw(b telemetry.Branch) string {
	var kids []string
	for _, k := range b.Children {
		kids = append(kids, draw(k))
	}
	if len(kids) == 0 {
		return b.RunID
	}
	return b.RunID + "(" + strings.Join(kids, " ") + ")"
}

// Every filter and the tree use an index: nothing reads the whole table.
func TestQueriesUseIndexes(t *testing.T) {
	s := filePlace(t).open(t)
	for _, c := range []struct{ where, index string }{
		{"event_id = $1", "sqlite_autoindex"}, {"run_id = $1", "sqlite_autoindex"},
		{"agent_name = $1 ORDER BY seq DESC", "telemetry_agent"}, {"status = $1 ORDER BY seq DESC", "telemetry_status"},
		{"job_type = $1 ORDER BY seq DESC", "telemetry_job"}, {"parent_run_id = $1 ORDER BY seq DESC", "telemetry_parent"},
		{"trace_id = $1 ORDER BY seq DESC", "telemetry_trace"}, {"created_at > $1", "telemetry_created"}, {"start_time >= $1", "telemetry_start"},
	} {
		rows := testkit.Must(s.readers.Query(`EXPLAIN QUERY PLAN `+selectRecord+` WHERE `+c.where, "x"))(t)
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			testkit.OK(t, rows.Scan(&id, &parent, &unused, &detail))
			plan = append(plan, detail)
		}
		rows.Close()
		if text := strings.Join(plan, "; "); !strings.Contains(text, c.index) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: %s", c.where, text)
		}
	}
}
