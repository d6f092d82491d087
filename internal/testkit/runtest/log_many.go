package runtest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// concurrent: no loss, the order of each caller kept, drafts of one call adjacent,
// and a chain that verifies.
func concurrent(t *testing.T, fresh FreshLog) {
	p := fresh(t)
	w := writer(t, p)
	const callers, calls, perCall = 16, 12, 3
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for k := range calls {
				first := 1 + (c*calls+k)*perCall
				events, err := w.Append(t.Context(), LogDrafts(first, first+perCall)...)
				if err != nil {
					t.Error(err)
					return
				}
				for i, e := range events {
					if e.ID != LogDraft(first+i).ID || i > 0 && e.PrevHash != events[i-1].Hash {
						t.Errorf("caller %d got event %s as its %d-th", c, e.ID, i)
					}
				}
			}
		})
	}
	wg.Wait()
	at := map[string]int{}
	for e, err := range w.Events(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		at[e.ID] = int(e.Line)
	}
	if len(at) != callers*calls*perCall {
		t.Fatalf("%d events of %d", len(at), callers*calls*perCall)
	}
	for c := range callers {
		before := 0
		for k := range calls {
			first := 1 + (c*calls+k)*perCall
			for i := range perCall {
				if at[LogDraft(first+i).ID] != at[LogDraft(first).ID]+i {
					t.Errorf("caller %d call %d is not in one piece", c, k)
				}
			}
			if at[LogDraft(first).ID] < before {
				t.Errorf("caller %d: call %d is before the one before", c, k)
			}
			before = at[LogDraft(first).ID]
		}
	}
}

// anySequence holds a log against a list: appends of all sizes, refused ones,
// cancelled ones, reopening, reading from anywhere.
func anySequence(t *testing.T, fresh FreshLog) {
	rapid.Check(t, func(rt *rapid.T) {
		p := fresh(t)
		w := must(p.OpenWriter())
		defer func() { w.Close() }()
		var want []run.Draft
		verbs := map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				n := len(want)
				drafts := LogDrafts(n, n+rapid.IntRange(0, 5).Draw(rt, "drafts"))
				events, err := w.Append(t.Context(), drafts...)
				if err != nil || len(events) != len(drafts) {
					rt.Fatal(len(events), err)
				}
				want = append(want, drafts...)
			},
			"append twice": func(rt *rapid.T) {
				if len(want) == 0 {
					return
				}
				_, err := w.Append(t.Context(), LogDraft(len(want)), want[rapid.IntRange(0, len(want)-1).Draw(rt, "known")])
				if !fault.Is(err, fault.Conflict) {
					rt.Fatal(err)
				}
			},
			"append, cancelled": func(rt *rapid.T) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := w.Append(ctx, LogDraft(len(want))); !fault.Is(err, fault.Cancelled) {
					rt.Fatal(err)
				}
			},
			"reopen": func(rt *rapid.T) {
				if err := w.Close(); err != nil {
					rt.Fatal(err)
				}
				w = must(p.OpenWriter())
			},
			"read": func(rt *rapid.T) {
				n := rapid.IntRange(0, len(want)).Draw(rt, "after")
				var got []byte
				for e, err := range w.Events(t.Context(), int64(n)) {
					if err != nil {
						rt.Fatal(err)
					}
					got = append(append(got, e.Raw...), '\n')
				}
				lines := bytes.SplitAfter(LogLines(want...), []byte("\n"))
				if !bytes.Equal(got, bytes.Join(lines[n:], nil)) {
					rt.Fatalf("after %d: got %s", n, got)
				}
			},
			"look at the last": func(rt *rapid.T) {
				e, ok, err := w.Last(t.Context())
				if err != nil || ok != (len(want) > 0) || ok && (e.ID != want[len(want)-1].ID || e.Line != int64(len(want))) {
					rt.Fatal(ok, err, e.Line)
				}
			},
		}
		// Short ones: each call is a commit, and in a run of many checks the
		// disk is what takes the time.
		names := slices.Sorted(maps.Keys(verbs))
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 10).Draw(rt, "verbs") {
			verbs[name](rt)
		}
		verbs["read"](rt)
		verbs["look at the last"](rt)
	})
}
