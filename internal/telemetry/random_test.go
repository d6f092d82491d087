package telemetry_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/run"
	"ramet/internal/telemetry"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// historyFollow draws a legal run. Calls of models meet each other and items: spans and parents
// come from small pools too.
func historyFollow(dice *rand.Rand, steps int) (events []run.Event) {
	r := run.NewReducer(run.New(runtest.RunID))
	for n := range steps {
		s := r.Snapshot()
		d := runtest.Step(dice, s, n)
		switch d.Type {
		case run.LLMCallStarted, run.LLMCallFinished, run.LLMCallFailed, run.LLMCacheHit:
			if dice.IntN(3) > 0 {
				d.SpanID = fmt.Sprintf("%016x", len(s.RunID)*1000+dice.IntN(6)+1)
			}
			if len(s.WorkItems) > 0 && dice.IntN(3) > 0 {
				d.ParentSpan = spanOfItem(s.WorkItems[dice.IntN(len(s.WorkItems))].WorkItemID)
			}
		case run.WorkItemStarted, run.WorkItemQueued, run.WorkItemFinished, run.WorkItemFailed:
			if id := itemOf(d.Payload); dice.IntN(5) > 0 {
				d.SpanID = spanOfItem(id)
			}
			if d.Type == run.WorkItemFailed && dice.IntN(4) == 0 {
				id := itemOf(d.Payload)
				d.Payload = []byte(`{"error":{"code":"INTERRUPTED","message":"the process that did it ended"},"retryable":true,"work_item_id":"` + id + `"}`)
			}
		}
		if dice.IntN(20) == 0 { // a clock that is put back
			d.TS = run.FormatTime(epoch.Add(-1e9))
		}
		e := d.Link(r.Hash())
		if r.Apply(e) == nil {
			events = append(events, e)
		}
	}
	return events
}

func isCall(e run.Event) bool { return strings.HasPrefix(string(e.Type), "LLM_") }

// bound says which calls of the log have not exactly one record.
func bound(events []run.Event, s *service) error {
	have := map[string]int{}
	for _, r := range s.records {
		if r.JobType == telemetry.LLMCall {
			c := contextFollow(r)
			have[fmt.Sprint(c["trace_id"], c["span_id"])]++
		}
	}
	want := map[string]bool{}
	for _, e := range events {
		if isCall(e) {
			want[e.TraceID+e.SpanID] = true
			if n := have[e.TraceID+e.SpanID]; n != 1 {
				return fmt.Errorf("%s with span %s has %d records", e.Type, e.SpanID, n)
			}
		}
	}
	if len(want) != len(have) {
		return fmt.Errorf("%d calls, %d records", len(want), len(have))
	}
	return nil
}

func TestEveryLegalRunIsFollowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := historyFollow(runtest.Dice(t), rapid.IntRange(1, 120).Draw(t, "events")+30)
		var first, second telemetry.Follow
		s := newService()
		var all []telemetry.Delivery
		for i, e := range events {
			got, again := first.Next(e), second.Next(e)
			if fmt.Sprint(got) != fmt.Sprint(again) {
				t.Fatalf("event %d %s %s gives\n%s\nand\n%s", i, e.Type, e.Payload, got, again)
			}
			if err := s.take(got...); err != nil {
				t.Fatalf("event %d %s %s: %v", i, e.Type, e.Payload, err)
			}
			if err := s.check(); err != nil {
				t.Fatalf("after event %d %s %s: %v\n%s", i, e.Type, e.Payload, err, s.tree())
			}
			all = append(all, got...)
		}
		// Sent again from the beginning, as after a crash: the same records.
		before := s.tree()
		testkit.OK(t, s.take(all...))
		if after := s.tree(); after != before {
			t.Fatalf("sent twice\n%s\nsent once\n%s", after, before)
		}
		forked := false
		for _, e := range events {
			forked = forked || e.Type == run.RunForked
		}
		if forked {
			return // spans of the two runs meet in the pool; each log is tested by itself
		}
		if err := bound(events, s); err != nil {
			t.Fatalf("%v\n%s", err, s.tree())
		}
	})
}

// Next is total, and what it gives is always taken.
func FuzzNext(f *testing.F) {
	for kind, payload := range runtest.Examples() {
		f.Add(string(kind), payload, "2026-01-15T14:22:10Z", "1111111111111111", "")
	}
	f.Add("WORK_ITEM_FAILED", `{"error":{"code":"INTERRUPTED","message":"the process that did it ended"},"work_item_id":"a:b:0:c"}`, "", "", "")
	f.Add("LLM_CALL_FINISHED", `{"call_id":"../..","latency_ms":-1,"token_usage":{"input_tokens":1e999},"finish_reason":"\u2028"}`, "x", "\xff", "2")
	f.Fuzz(func(t *testing.T, kind, payload, ts, span, parent string) {
		var one telemetry.Follow
		s := newService()
		for i, e := range []run.Event{
			{Type: "RUN_CREATED", RunID: "r", TS: "2026-01-15T14:22:10Z", TraceID: "t", SpanID: "s", Payload: []byte(`{}`)},
			{Type: run.Type(kind), Payload: []byte(payload), TS: ts, SpanID: span, ParentSpan: parent, RunID: "r"},
			{Type: "WORK_ITEM_STARTED", Payload: []byte(payload), TS: ts, SpanID: parent, RunID: "r"},
			{Type: "LLM_CALL_STARTED", Payload: []byte(payload), TS: ts, SpanID: span, ParentSpan: parent, RunID: "r"},
			{Type: run.Type(kind), Payload: []byte(payload), TS: ts, SpanID: span, ParentSpan: parent, RunID: "r"},
			{Type: "RESUME_REWIND", Payload: []byte(payload), RunID: "r"},
		} {
			d := one.Next(e)
			if err := s.take(d...); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			for _, x := range d {
				if !bytes.HasPrefix(x.Body, []byte("{")) {
					t.Fatalf("body %s", x.Body)
				}
			}
		}
		testkit.OK(t, s.check())
	})
}
