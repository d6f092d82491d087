package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// place is somewhere to keep records; open opens the same ones again.
type place struct{ open func(tb testing.TB) *Store }

func filePlace(tb testing.TB) place {
	path := filepath.Join(tb.TempDir(), "telemetry.db")
	return newPlace(func() (*Store, error) { return OpenFile(context.Background(), path) })
}

func serverPlace(tb testing.TB) place {
	address := pgtest.URL(tb)
	dropAfter(tb, address)
	return newPlace(func() (*Store, error) { return OpenServer(context.Background(), address) })
}

// dropAfter removes the schema that pgtest does not know of.
func dropAfter(tb testing.TB, address string) {
	pg := testkit.Must(parseAddress(address))(tb)
	tb.Cleanup(func() {
		db := stdlib.OpenDB(*pg.Config)
		defer db.Close()
		if _, err := db.Exec(`DROP SCHEMA IF EXISTS ` + pgx.Identifier{pg.Schema}.Sanitize() + ` CASCADE`); err != nil {
			tb.Error(err)
		}
	})
}

func newPlace(open func() (*Store, error)) place {
	var p place
	p.open = func(tb testing.TB) *Store {
		tb.Helper()
		s := testkit.Must(open())(tb)
		tb.Cleanup(func() {
			if err := s.Close(); err != nil {
				tb.Error(err)
			}
		})
		return s
	}
	return p
}

// onBoth runs a test on each engine.
func onBoth(t *testing.T, f func(t *testing.T, p place)) {
	t.Run("SQLite", func(t *testing.T) { f(t, filePlace(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { f(t, serverPlace(t)) })
}

// sample is a record of which every field is filled in.
func sample(tb testing.TB, n int) telemetry.New {
	tb.Helper()
	return parseNew(tb, fmt.Sprintf(`{
		"event_id": %q, "run_id": "run-%d", "agent_name": "writer", "job_type": "llm_call", "status": "failed",
		"start_time": "2026-01-02T03:04:05.678901+02:00", "end_time": "2026-01-02T01:04:07Z",
		"product": "ramet", "items_discovered": 9007199254740991, "items_succeeded": 2, "items_failed": 3, "items_skipped": 4,
		"input_summary": "two\nlines", "output_summary": "<b>ü</b>", "source_ref": "a/b", "target_ref": "c",
		"error_summary": "it \u001b[31mfailed", "error_details": "\t'; DROP TABLE telemetry_runs; --",
		"git_repo": "https://example.com/r.git", "git_branch": "main", "git_commit_hash": "0123abc", "git_commit_source": "manual",
		"git_commit_author": "A <a@example.com>", "git_commit_timestamp": "2026-01-01T00:00:00Z", "git_run_tag": "t",
		"host": "h", "environment": "test", "trigger_type": "cli",
		"metrics_json": {"input_tokens": 10, "output_tokens": 5, "api_cost_usd": 0.25, "nul": "\u0000"},
		"context_json": "{\"trace_id\": \"trace-%d\", \"model\": \"m\"}"}`, eventID(n), n, n))
}

func eventID(n int) string { return telemetry.EventID("test", fmt.Sprint(n)) }

// plain is a record of few fields.
func plain(tb testing.TB, n int, parent string) telemetry.New {
	tb.Helper()
	return parseNew(tb, body(n, n, parent))
}

func body(event, run int, parent string) string {
	return fmt.Sprintf(`{"event_id": %q, "run_id": "run-%d", "parent_run_id": %q, "agent_name": "a%d", "job_type": "worker",
		"start_time": "2026-01-02T03:04:%02dZ"}`, eventID(event), run, parent, event%3, event%60)
}

func parseNew(tb testing.TB, body string) telemetry.New {
	tb.Helper()
	n := testkit.Must(telemetry.ParseNew([]byte(body)))(tb)
	return n
}

func parsePatch(tb testing.TB, body string) telemetry.Patch {
	tb.Helper()
	p := testkit.Must(telemetry.ParsePatch([]byte(body)))(tb)
	return p
}

func create(tb testing.TB, s *Store, news ...telemetry.New) []telemetry.Result {
	tb.Helper()
	results := testkit.Must(s.Create(context.Background(), news))(tb)
	if len(results) != len(news) {
		tb.Fatalf("%d results of %d records", len(results), len(news))
	}
	return results
}

func TestCreateGivesBackWhatWasSent(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		before := time.Now()
		n := sample(t, 1)
		r := create(t, s, n)[0]
		if r.Err != nil || r.Outcome != telemetry.Created {
			t.Fatal(r.Outcome, r.Err)
		}
		if r.Record.CreatedAt.Before(before.Truncate(time.Microsecond)) || r.Record.CreatedAt != r.Record.UpdatedAt {
			t.Error(r.Record.CreatedAt, r.Record.UpdatedAt)
		}
		want := n.Record
		want.CreatedAt, want.UpdatedAt = r.Record.CreatedAt, r.Record.UpdatedAt
		again := p.open(t) // another process
		for _, one := range []*Store{s, again} {
			got, err := one.Get(t.Context(), n.EventID)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, want)
			}
			if got, err := one.Get(t.Context(), strings.ToUpper(n.EventID)); err != nil || got.EventID != n.EventID {
				t.Error(got, err)
			}
		}
		if *want.DurationMS != 1321 || want.Status != telemetry.Failure || want.TraceID() != "trace-1" {
			t.Errorf("%+v", want)
		}
	})
}

func TestTheSameIDAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		one, two := plain(t, 1, ""), plain(t, 2, "")
		other := plain(t, 1, "run-2") // another body
		taken := parseNew(t, body(3, 1, ""))
		free := plain(t, 3, "")
		results := create(t, s, one, one, other, taken, free, two)
		checkResults(t, results, "created", "duplicate", "ID_REUSED", "ID_REUSED", "created", "created")
		if r := create(t, s, parseNew(t, body(4, 1, "")))[0]; !fault.Is(r.Err, fault.IDReused) || !strings.Contains(r.Err.Error(), one.EventID) {
			t.Errorf("it does not say whose the run_id is: %v", r.Err)
		}
		testkit.Must(s.Patch(t.Context(), one.EventID, parsePatch(t, `{"status": "completed"}`)))(t)
		results = create(t, s, one, other, free, taken)
		checkResults(t, results, "duplicate", "ID_REUSED", "duplicate", "ID_REUSED")
		if results[0].Record.Status != telemetry.Success {
			t.Errorf("a duplicate is given as it was, not as it is: %+v", results[0].Record)
		}
		if got, err := s.Get(t.Context(), one.EventID); err != nil || got.Status != telemetry.Success || got.ParentRunID != "" {
			t.Error(got, err)
		}
	})
}

func checkResults(t *testing.T, results []telemetry.Result, want ...string) {
	t.Helper()
	for i, r := range results {
		got := string(r.Outcome)
		if r.Err != nil {
			got = string(fault.CodeOf(r.Err))
			if !reflect.DeepEqual(r.Record, telemetry.Record{}) || r.Outcome != "" {
				t.Errorf("%d: %+v with %v", i, r.Record, r.Err)
			}
		}
		if got != want[i] {
			t.Errorf("%d is %s (%v), want %s", i, got, r.Err, want[i])
		}
	}
}

// Eight send the same, eight others another body under the same id, over two handles: one
// wins, and those with its body are told that they are duplicates.
func TestRaceForOneID(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		stores := []*Store{p.open(t), p.open(t)}
		for round := range 10 {
			bodies := []telemetry.New{plain(t, round, ""), plain(t, round, "run-x")}
			var wg sync.WaitGroup
			var mu sync.Mutex
			outcomes := map[string]int{}
			for g := range 16 {
				wg.Go(func() {
					results, err := stores[g%2].Create(t.Context(), []telemetry.New{bodies[g/8]})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					outcomes[string(results[0].Outcome)+string(fault.CodeOf(orNone(results[0].Err)))]++
				})
			}
			wg.Wait()
			if outcomes["createdFAILED"] != 1 || outcomes["duplicateFAILED"] != 7 || outcomes["ID_REUSED"] != 8 {
				t.Errorf("round %d: %v", round, outcomes)
			}
		}
	})
}

func orNone(err error) error {
	if err == nil {
		return sql.ErrNoRows // of no code
	}
	return err
}

// TestOppositeOrders checks that batches with the same records in opposite orders, over two
// handles, never fail: without taking turns they block each other.
func TestOppositeOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		stores := []*Store{p.open(t), p.open(t)}
		const size, rounds = 100, 5
		created := make([]int, 2)
		var wg sync.WaitGroup
		for g, s := range stores {
			wg.Go(func() {
				for round := range rounds {
					news := make([]telemetry.New, size)
					for i := range news {
						n := i
						if g == 1 {
							n = size - 1 - i
						}
						news[i] = plain(t, 1000*round+n, "")
					}
					for _, r := range create(t, s, news...) {
						if r.Err != nil {
							t.Error(r.Err)
						} else if r.Outcome == telemetry.Created {
							created[g]++
						}
					}
				}
			})
		}
		wg.Wait()
		if created[0]+created[1] != size*rounds {
			t.Errorf("%v were created, together not %d", created, size*rounds)
		}
	})
}

func TestPatches(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		n := plain(t, 1, "")
		made := create(t, s, n)[0].Record
		got, err := s.Patch(t.Context(), n.EventID, parsePatch(t, `{"status": "canceled", "end_time": "2026-01-02T03:05:00Z",
			"context_json": {"trace_id": "late"}, "output_summary": "out", "items_failed": 7, "agent_name": "renamed"}`))
		testkit.OK(t, err)
		want := made
		end := time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
		duration := int64(59_000)
		want.Status, want.EndTime, want.DurationMS, want.Context = telemetry.Cancelled, &end, &duration, []byte(`{"trace_id":"late"}`)
		want.OutputSummary, want.ItemsFailed, want.AgentName, want.UpdatedAt = "out", 7, "renamed", got.UpdatedAt
		if !reflect.DeepEqual(got, want) || got.UpdatedAt.Before(made.UpdatedAt) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if stored, err := p.open(t).Get(t.Context(), n.EventID); err != nil || !reflect.DeepEqual(stored, want) {
			t.Errorf("stored %+v, %v", stored, err)
		}
		if list, _, err := s.List(t.Context(), telemetry.Filter{TraceID: "late"}); err != nil || len(list) != 1 {
			t.Error("the trace is not found: ", list, err)
		}
		for _, c := range []struct {
			id, patch string
			code      fault.Code
		}{
			{n.EventID, `{"status": "running"}`, fault.Conflict},
			{n.EventID, `{"end_time": "2026-01-02T03:04:00Z"}`, fault.InvalidField},
			{n.EventID, `{"start_time": "2027-01-02T03:04:00Z"}`, fault.InvalidField},
			{n.EventID, `{"parent_run_id": "run-1"}`, fault.InvalidField},
			{eventID(2), `{"status": "failed"}`, fault.NotFound},
			{"../" + n.EventID, `{"status": "failed"}`, fault.InvalidID},
			{"\x00", `{"status": "failed"}`, fault.InvalidID},
		} {
			if _, err := s.Patch(t.Context(), c.id, parsePatch(t, c.patch)); !fault.Is(err, c.code) {
				t.Errorf("%s: %v", c.patch, err)
			}
		}
		if stored, err := s.Get(t.Context(), n.EventID); err != nil || !reflect.DeepEqual(stored, want) {
			t.Errorf("a refused patch changed something: %+v, %v", stored, err)
		}
		got, err = s.Patch(t.Context(), n.EventID, parsePatch(t, `{"context_json": null, "end_time": null, "output_summary": null}`))
		if err != nil || got.Context != nil || got.EndTime != nil || got.DurationMS != nil || got.OutputSummary != "" {
			t.Errorf("%+v, %v", got, err)
		}
		if list, _, err := s.List(t.Context(), telemetry.Filter{TraceID: "late"}); err != nil || len(list) != 0 {
			t.Error("the old trace is still found: ", list, err)
		}
	})
}

// Patches of one record by many, over two handles, are one after the other: nothing that
// one wrote is lost to another.
func TestPatchesDoNotLoseEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		stores := []*Store{p.open(t), p.open(t)}
		create(t, stores[0], plain(t, 1, ""))
		patches := []string{`{"product": "p"}`, `{"host": "h"}`, `{"git_branch": "b"}`, `{"items_failed": 3}`, `{"metrics_json": {}}`,
			`{"environment": "e"}`, `{"error_summary": "s"}`, `{"status": "partial"}`}
		var wg sync.WaitGroup
		for i, body := range patches {
			patch := parsePatch(t, body)
			wg.Go(func() {
				if _, err := stores[i%2].Patch(t.Context(), eventID(1), patch); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		r, err := stores[1].Get(t.Context(), eventID(1))
		if err != nil || r.Product != "p" || r.Host != "h" || r.GitBranch != "b" || r.ItemsFailed != 3 || string(r.Metrics) != "{}" ||
			r.Environment != "e" || r.ErrorSummary != "s" || r.Status != telemetry.Partial {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestUnknownAndBadIDs(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		for id, code := range map[string]fault.Code{eventID(1): fault.NotFound, "": fault.InvalidID, "..": fault.InvalidID, "\x00": fault.InvalidID} {
			if _, err := s.Get(t.Context(), id); !fault.Is(err, code) {
				t.Errorf("get %q: %v", id, err)
			}
			if _, err := s.Tree(t.Context(), id); !fault.Is(err, code) {
				t.Errorf("tree of %q: %v", id, err)
			}
		}
		if _, err := s.Create(t.Context(), []telemetry.New{{}}); !fault.Is(err, fault.InvalidID) {
			t.Error(err)
		}
		if results, err := s.Create(t.Context(), nil); err != nil || len(results) != 0 {
			t.Error(results, err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Create(cancelled, []telemetry.New{plain(t, 1, "")}); !fault.Is(err, fault.Interrupted) {
			t.Error(err)
		}
		if _, err := s.Get(cancelled, eventID(1)); !fault.Is(err, fault.Interrupted) {
			t.Error(err)
		}
		s.Close()
		if _, err := s.Create(t.Context(), []telemetry.New{plain(t, 1, "")}); !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	})
}

func TestMetadata(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		m, err := s.Metadata(t.Context())
		if err != nil || m.Records != 0 || m.AgentNames == nil || m.JobTypes == nil || m.Statuses == nil {
			t.Errorf("%+v, %v", m, err)
		}
		create(t, s, sample(t, 100), plain(t, 1, ""), plain(t, 2, ""), plain(t, 3, ""), plain(t, 4, ""))
		m, err = s.Metadata(t.Context())
		want := telemetry.Metadata{AgentNames: []string{"a0", "a1", "a2", "writer"}, Records: 5,
			JobTypes: []telemetry.JobType{telemetry.LLMCall, telemetry.Worker}, Statuses: []telemetry.Status{telemetry.Failure, telemetry.Running}}
		if err != nil || !reflect.DeepEqual(m, want) {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestTotalsAddUpByJobAndStatus(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		if got, err := s.Totals(t.Context()); err != nil || len(got) != 0 {
			t.Fatal(got, err)
		}
		var news []telemetry.New
		for i, c := range []string{`"launch","status":"running"`, `"launch","status":"success"`, `"gate","status":"running"`,
			`"llm_call","status":"success","metrics_json":{"input_tokens":10,"output_tokens":1,"api_cost_usd":0.5}`,
			`"llm_call","status":"success","metrics_json":{"input_tokens":5}`, `"llm_call","status":"failure"`, `"launch","status":"running","metrics_json":{"input_tokens":99}`} {
			news = append(news, parseNew(t, fmt.Sprintf(`{"event_id":%q,"run_id":"r%d","agent_name":"a","start_time":"2026-01-01T00:00:00Z","job_type":%s}`,
				telemetry.EventID("totals", fmt.Sprint(i)), i, c)))
		}
		testkit.Must(s.Create(t.Context(), news))(t)
		totals := testkit.Must(s.Totals(t.Context()))(t)
		got := map[string]telemetry.Sums{}
		for _, total := range totals {
			got[string(total.JobType)+" "+string(total.Status)] = total.Sums
		}
		want := map[string]telemetry.Sums{"launch running": {Records: 2}, "launch success": {Records: 1}, "gate running": {Records: 1},
			"llm_call success": {Records: 2, Calls: 2, InputTokens: 15, OutputTokens: 1, TotalTokens: 16, CostUSD: 0.5},
			"llm_call failure": {Records: 1, Calls: 1}}
		if len(got) != len(want) || len(totals) != len(want) {
			t.Errorf("%+v", totals)
		}
		for name, sums := range want {
			if got[name] != sums {
				t.Errorf("%s: %+v, want %+v", name, got[name], sums)
			}
		}
	})
}

// Old records go, but for those above a record that stays.
func TestPrune(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		now := time.Now().UTC().Truncate(time.Microsecond)
		at := now.Add(-100 * 24 * time.Hour)
		s.now = func() time.Time { return at }
		var old []telemetry.New
		for n := range 5 {
			old = append(old, sample(t, n))
		}
		testkit.Must(s.Create(t.Context(), old))(t)
		at = now
		child := plain(t, 10, "run-2")
		testkit.Must(s.Create(t.Context(), []telemetry.New{child}))(t)
		n, err := s.Prune(t.Context(), now.Add(-90*24*time.Hour))
		if err != nil || n != 4 {
			t.Errorf("%d, %v", n, err)
		}
		left, _, err := s.List(t.Context(), telemetry.Filter{Limit: 100})
		if err != nil || len(left) != 2 {
			t.Errorf("%d are left, %v", len(left), err)
		}
		if n, err := s.Prune(t.Context(), now.Add(-90*24*time.Hour)); err != nil || n != 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}
