package store

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/telemetry"
	_ "ramet/internal/testkit"
)

// oracle is a store as naive as can be: a slice.
type oracle struct {
	records []telemetry.Record
	hashes  []string
}

func (o *oracle) find(eventID string) int {
	return slices.IndexFunc(o.records, func(r telemetry.Record) bool { return r.EventID == eventID })
}

func (o *oracle) create(n telemetry.New, now time.Time) (telemetry.Outcome, fault.Code) {
	if i := o.find(n.EventID); i >= 0 {
		if o.hashes[i] == n.BodyHash {
			return telemetry.Duplicate, ""
		}
		return "", fault.IDReused
	}
	if slices.ContainsFunc(o.records, func(r telemetry.Record) bool { return r.RunID == n.RunID }) {
		return "", fault.IDReused
	}
	r := n.Record
	r.CreatedAt, r.UpdatedAt = now, now
	o.records, o.hashes = append(o.records, r), append(o.hashes, n.BodyHash)
	return telemetry.Created, ""
}

func (o *oracle) list(keep func(telemetry.Record) bool) (out []telemetry.Record) {
	for _, r := range slices.Backward(o.records) {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// size counts the records of a tree by asking for children again and again.
func (o *oracle) size(eventID string) int64 {
	in := map[string]bool{o.records[o.find(eventID)].RunID: true}
	for before := 0; before < len(in); {
		before = len(in)
		for _, r := range o.records {
			if in[r.ParentRunID] {
				in[r.RunID] = true
			}
		}
	}
	return int64(len(in))
}

// Random creates and patches: the store says and shows what the oracle does.
func TestOracle(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := p.open(t)
		clock := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		s.now = func() time.Time { clock = clock.Add(time.Second); return clock }
		ctx := context.Background()
		rapid.Check(t, func(t *rapid.T) {
			if _, err := s.writer.Exec(`DELETE FROM telemetry_runs`); err != nil {
				t.Fatal(err)
			}
			o := &oracle{}
			for range rapid.IntRange(1, 12).Draw(t, "steps") {
				if len(o.records) > 0 && rapid.Bool().Draw(t, "patch") {
					i := rapid.IntRange(0, len(o.records)-1).Draw(t, "which")
					patch, err := telemetry.ParsePatch([]byte(rapid.SampledFrom([]string{`{"status": "failed"}`, `{"status": "running"}`, `{"parent_run_id": "run-1"}`,
						`{"parent_run_id": null, "agent_name": "b"}`, `{"context_json": {"trace_id": "t"}}`, `{"context_json": {}}`}).Draw(t, "body")))
					if err != nil {
						t.Fatal(err)
					}
					got, err := s.Patch(ctx, o.records[i].EventID, patch)
					want, wanted := telemetry.Apply(o.records[i], patch, clock)
					if fault.CodeOf(err) != fault.CodeOf(wanted) || err == nil && !reflect.DeepEqual(got, want) {
						t.Fatalf("got %+v, %v\nwant %+v, %v", got, err, want, wanted)
					}
					o.records[i] = want
					continue
				}
				var news []telemetry.New
				for range rapid.IntRange(1, 12).Draw(t, "records") {
					one := rapid.IntRange(1, 8)
					n, err := telemetry.ParseNew([]byte(body(one.Draw(t, "event"), one.Draw(t, "run"), fmt.Sprint("run-", rapid.IntRange(10, 12).Draw(t, "parent")))))
					if err != nil {
						t.Fatal(err)
					}
					news = append(news, n)
				}
				results, err := s.Create(ctx, news)
				if err != nil {
					t.Fatal(err)
				}
				for i, n := range news {
					outcome, code := o.create(n, clock)
					if results[i].Outcome != outcome || code != "" && !fault.Is(results[i].Err, code) || code == "" && results[i].Err != nil {
						t.Fatalf("%d-th: got %+v, want %s %s", i, results[i], outcome, code)
					}
				}
			}
			limit := rapid.IntRange(1, 5).Draw(t, "limit")
			for _, c := range []struct {
				filter telemetry.Filter
				keep   func(telemetry.Record) bool
			}{
				{telemetry.Filter{Limit: limit}, func(telemetry.Record) bool { return true }},
				{telemetry.Filter{Limit: limit, Status: telemetry.Failure}, func(r telemetry.Record) bool { return r.Status == telemetry.Failure }},
				{telemetry.Filter{Limit: limit, ParentRunID: "run-1"}, func(r telemetry.Record) bool { return r.ParentRunID == "run-1" }},
				{telemetry.Filter{Limit: limit, AgentName: "b"}, func(r telemetry.Record) bool { return r.AgentName == "b" }},
				{telemetry.Filter{Limit: limit, TraceID: "t"}, func(r telemetry.Record) bool { return r.TraceID() == "t" }},
			} {
				if got, want := pages(t, s, c.filter), o.list(c.keep); !reflect.DeepEqual(got, want) {
					t.Fatalf("%+v: got %+v\nwant %+v", c.filter, got, want)
				}
			}
			for _, r := range o.records {
				if tree, err := s.Tree(ctx, r.EventID); err != nil || tree.Sums.Records != o.size(r.EventID) {
					t.Fatalf("tree of %s: %d, %v, want %d", r.RunID, tree.Sums.Records, err, o.size(r.EventID))
				}
			}
		})
	})
}
