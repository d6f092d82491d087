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
	"ramet/internal/testkit"
)

// concurrent holds that nothing is lost, that drafts of one call are adjacent, and that the chain verifies.
func concurrent(t *testing.T, fresh FreshLog) {
	w := writer(t, fresh(t))
	const callers, perCall = 40, 3
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			events, err := w.Append(t.Context(), LogDrafts(c*perCall+1, (c+1)*perCall+1)...)
			if err != nil || events[1].PrevHash != events[0].Hash || events[2].PrevHash != events[1].Hash {
				t.Errorf("call %d: %v %v", c, events, err)
			}
		})
	}
	wg.Wait()
	if n := bytes.Count(ExportLog(t, w), []byte("\n")); n != callers*perCall {
		t.Errorf("%d events of %d", n, callers*perCall)
	}
}

// anySequence holds a log against a list: appends of all sizes, refused ones,
// cancelled ones, reopening, reading from anywhere.
func anySequence(t *testing.T, fresh FreshLog) {
	rapid.Check(t, func(rt *rapid.T) {
		p := fresh(t)
		w := testkit.Must(p.OpenWriter())(t)
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
				testkit.OK(rt, w.Close())
				w = testkit.Must(p.OpenWriter())(t)
			},
			"read": func(rt *rapid.T) {
				n := rapid.IntRange(0, len(want)).Draw(rt, "after")
				var got []byte
				for e, err := range w.Events(t.Context(), int64(n)) {
					testkit.OK(rt, err)
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
