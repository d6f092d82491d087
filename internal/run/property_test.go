package run_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/run"
	"ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// history draws a run: what came of it event by event, the illegal ones refused.
func history(t *rapid.T) (events []run.Event, snapshots []string) {
	r := run.NewReducer(run.New(runtest.RunID))
	dice, last := runtest.Dice(t), encode(t, r.Snapshot())
	for n := range rapid.IntRange(1, 100).Draw(t, "events") + 20 {
		before := r.Snapshot()
		d := runtest.Step(dice, before, n)
		testkit.OK(t, d.Check())
		e := d.Link(before.LastEventHash)
		pure, refusal := runtest.Apply(before, e)
		err := r.Apply(e)
		if (err == nil) != (refusal == nil) || err != nil && err.Error() != refusal.Error() {
			t.Fatalf("Apply says %v, the reducer %v", refusal, err)
		}
		after := encode(t, r.Snapshot())
		if after != encode(t, pure) {
			t.Fatalf("Apply and the reducer differ after %s", e.Line())
		}
		if err != nil {
			if after != last {
				t.Fatalf("%s was refused and changed the snapshot", e.Line())
			}
			continue
		}
		last = after
		events = append(events, e)
		snapshots = append(snapshots, after)
	}
	return events, snapshots
}

func encode(t *rapid.T, s run.Snapshot) string {
	text := testkit.Must(s.Encode())(t)
	return string(text)
}

func TestASnapshotIsTheReplayOfItsFirstEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, snapshots := history(t)
		if len(events) == 0 {
			return
		}
		k := rapid.IntRange(1, len(events)).Draw(t, "k")
		s := run.New(runtest.RunID)
		for _, e := range events[:k] {
			// As a log gives them: read from their lines.
			line := e.Line()
			parsed := testkit.Must(run.ParseLine(line))(t)
			s = testkit.Must(runtest.Apply(s, parsed))(t)
			clear(line) // a snapshot keeps nothing of the line
		}
		if got := encode(t, s); got != snapshots[k-1] {
			t.Fatalf("replay of %d events\n%s\nwant\n%s", k, got, snapshots[k-1])
		}
		if s.EventCount != int64(k) || s.LastEventHash != events[k-1].Hash {
			t.Fatalf("it counts %d events to %s", s.EventCount, s.LastEventHash)
		}
	})
}

func TestNothingHidesOutsideTheSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, snapshots := history(t)
		if len(events) == 0 {
			return
		}
		k := rapid.IntRange(1, len(events)).Draw(t, "k")
		s := testkit.Must(run.DecodeSnapshot([]byte(snapshots[k-1])))(t)
		if got := encode(t, s); got != snapshots[k-1] {
			t.Fatalf("decoded and encoded\n%s\nwant\n%s", got, snapshots[k-1])
		}
		r := run.NewReducer(s)
		for _, e := range events[k:] {
			testkit.OK(t, r.Apply(e))
		}
		if got, want := encode(t, r.Snapshot()), snapshots[len(snapshots)-1]; got != want {
			t.Fatalf("resumed after %d events\n%s\nwant\n%s", k, got, want)
		}
	})
}

// Apply leaves the snapshot it was given alone, so that one can go on from it in
// two ways.
func TestApplyIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := run.New(runtest.RunID)
		dice := runtest.Dice(t)
		for n := range rapid.IntRange(1, 30).Draw(t, "events") + 20 {
			before := encode(t, s)
			var next run.Snapshot
			for range 2 {
				e := runtest.Step(dice, s, n).Link(s.LastEventHash)
				next, _ = runtest.Apply(s, e)
				if encode(t, s) != before {
					t.Fatalf("%s changed what it was given", e.Line())
				}
			}
			s = next
		}
	})
}

func TestAPlanCanBeCarriedOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events, snapshots := history(t)
		if len(events) == 0 {
			return
		}
		s := testkit.Must(run.DecodeSnapshot([]byte(snapshots[len(snapshots)-1])))(t)
		wishes := run.Wishes{Force: rapid.Bool().Draw(t, "force"), FromFailed: rapid.Bool().Draw(t, "from failed")}
		here := rapid.Bool().Draw(t, "here")
		plan, err := run.PlanResume(s, func(string) (string, bool) { return runtest.Sum, here }, wishes)
		if err != nil {
			if s.RunState.Terminal() && (s.RunState != run.Failed || !wishes.FromFailed) {
				return
			}
			t.Fatal(err)
		}
		r := run.NewReducer(s.Clone())
		for i, x := range carryOut(s, plan) {
			d := runtest.Draft(1000+i, x.kind, x.payload)
			d.RunID = s.RunID
			if err := r.Apply(d.Link(r.Hash())); err != nil {
				t.Fatalf("%s %s: %v\nplan %+v", x.kind, x.payload, err, plan)
			}
		}
		if r.State() != plan.Resume || !r.State().Stable() {
			t.Fatalf("it is %s, the plan says %s", r.State(), plan.Resume)
		}
	})
}

// The properties above say something only if random runs get everywhere.
func TestRandomRunsGetEverywhere(t *testing.T) {
	states, types := map[run.State]int{}, map[run.Type]int{}
	items, refused := map[run.Status]int{}, 0
	dice := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		r := run.NewReducer(run.New(runtest.RunID))
		for n := range 100 {
			d := runtest.Step(dice, r.Snapshot(), n)
			if r.Apply(d.Link(r.Hash())) != nil {
				refused++
				continue
			}
			types[d.Type]++
			states[r.State()]++
		}
		for _, w := range r.Snapshot().WorkItems {
			items[w.Status]++
		}
	}
	for _, s := range run.States() {
		if states[s] < 10 {
			t.Errorf("%s was reached %d times", s, states[s])
		}
	}
	for _, kind := range run.Types() {
		if types[kind] < 10 {
			t.Errorf("%s was legal %d times", kind, types[kind])
		}
	}
	if refused < 500 || items[run.Completed] < 50 || items[run.ItemFailed] < 50 || items[run.InProgress] < 50 {
		t.Errorf("%d refused, items %v", refused, items)
	}
}

func TestOnlyWhatEncodeWroteIsDecoded(t *testing.T) {
	good := testkit.Must(must(t, do(run.GateRunStarted), do(run.IssueOpened)).Encode())(t)
	testkit.Must(run.DecodeSnapshot(good))(t)
	for name, bad := range map[string][]byte{
		"empty":            nil,
		"null":             []byte("null\n"),
		"cut":              good[:len(good)-1],
		"more":             append(bytes.Clone(good), '\n'),
		"compact":          bytes.ReplaceAll(good, []byte("\n  "), nil),
		"CRLF":             bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")),
		"unknown field":    bytes.Replace(good, []byte(`  "artifacts"`), []byte("  \"a\": 1,\n  \"artifacts\""), 1),
		"missing field":    bytes.Replace(good, []byte("  \"artifacts\": [],\n"), nil, 1),
		"null for a list":  bytes.Replace(good, []byte(`"artifacts": []`), []byte(`"artifacts": null`), 1),
		"null for a map":   bytes.Replace(good, []byte(`"section_states": {}`), []byte(`"section_states": null`), 1),
		"text for a count": bytes.Replace(good, []byte(`"event_count": 3`), []byte(`"event_count": "3"`), 1),
	} {
		if bytes.Equal(bad, good) {
			t.Errorf("%s: nothing was changed", name)
		}
		if _, err := run.DecodeSnapshot(bad); err == nil {
			t.Errorf("%s: was read", name)
		}
	}
}

// Apply is total: whatever a payload holds, it gives a snapshot or an error.
func FuzzApply(f *testing.F) {
	for i, kind := range run.Types() {
		f.Add(uint8(i), runtest.Examples()[kind])
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload string) {
		types := run.Types()
		s := run.New(runtest.RunID)
		s.EventCount = 1
		s = testkit.Must(runtest.Apply(s, runtest.Draft(1, run.WorkItemQueued, runtest.Examples()[run.WorkItemQueued]).Link("")))(t)
		before, _ := s.Encode()
		next, err := runtest.Apply(s, runtest.Draft(2, types[int(kind)%len(types)], payload).Link(""))
		after, encoding := next.Encode()
		if encoding != nil {
			t.Errorf("%s: %v", payload, encoding)
		}
		if err != nil && !bytes.Equal(after, before) {
			t.Errorf("%s was refused and changed the snapshot", payload)
		}
	})
}
