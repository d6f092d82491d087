package runtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
)

// LogPlace opens one log any number of times.
type LogPlace struct {
	RunID      string // of the log; the suite writes events of this run
	Open       func() (run.Log, error)
	OpenWriter func() (run.Writer, error)
}

// FreshLog makes a place where no log is yet.
type FreshLog func(tb testing.TB) LogPlace

// LogRunID is the run id of the suite's events.
const LogRunID = "suite-run_1"

// RunLogTests runs the suite.
func RunLogTests(t *testing.T, fresh FreshLog) {
	for _, c := range []struct {
		name string
		test func(*testing.T, FreshLog)
	}{
		{"an empty log", empty},
		{"append, link, read back", roundTrip},
		{"read from a number on", fromNumber},
		{"the last event", last},
		{"reopen and go on", reopen},
		{"a second writer is told who holds the log", locked},
		{"many append at once", concurrent},
		{"a cancelled call writes nothing", cancelledLogtest},
		{"bad drafts are refused, to their caller alone", refused},
		{"large payloads", large},
		{"types of a newer version", unknownTypes},
		{"a forked run begins with its parent's hash", forked},
		{"the export", exported},
		{"after Close", closedLogtest},
		{"any sequence of calls", anySequence},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh) })
	}
}

// writer opens a log for appending until the test ends.
func writer(tb testing.TB, p LogPlace) run.Writer {
	tb.Helper()
	w := testkit.Must(p.OpenWriter())(tb)
	tb.Cleanup(func() { w.Close() })
	return w
}

// LogDraft is the n-th event of a long made-up run. The same n gives the same bytes.
func LogDraft(n int) run.Draft {
	d := run.Draft{ID: uuid("event", n), RunID: LogRunID, TS: fmt.Sprintf("2026-01-15T%02d:%02d:%02d.%06dZ", n/3600%24, n/60%60, n%60, n%1000000),
		Type: run.LLMCacheHit, TraceID: hexOf("trace", 0)[:32], SpanID: hexOf("span", n)[:16],
		Payload: fmt.Appendf(nil, `{"cache_key":"%s","call_id":"draft-worker/section %d é","output_hash":"%s"}`, hexOf("key", n), n, hexOf("out", n))}
	if n%3 == 0 {
		d.ParentSpan = hexOf("parent", n)[:16]
	}
	if n == 0 {
		d.Type, d.Payload = run.RunCreated, fmt.Appendf(nil, `{"config_sha256":"%s","run_id":"%s"}`, hexOf("config", 0), LogRunID)
	}
	return d
}

// LongLog is Draft with a line of about that many bytes.
func LongLog(n, bytes int) run.Draft {
	d := LogDraft(n)
	d.Type = "A_TYPE_OF_A_LATER_VERSION"
	d.Payload = fmt.Appendf(nil, `{"n":%d,"text":"`, n)
	for room := bytes - 470; len(d.Payload) < room; {
		d.Payload = append(d.Payload, "all work and no play "...)
	}
	d.Payload = append(d.Payload, `"}`...)
	return d
}

// LogDrafts are those from n up to m.
func LogDrafts(n, m int) []run.Draft {
	var out []run.Draft
	for i := n; i < m; i++ {
		out = append(out, LogDraft(i))
	}
	return out
}

// LogLines are the export of drafts, linked.
func LogLines(drafts ...run.Draft) []byte {
	var out bytes.Buffer
	prev := ""
	for _, d := range drafts {
		e := d.Link(prev)
		prev = e.Hash
		out.Write(e.Line())
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// ExportLog is all of a log, verified.
func ExportLog(tb testing.TB, l run.Log) []byte {
	tb.Helper()
	var out bytes.Buffer
	for e, err := range l.Events(tb.Context(), 0) {
		testkit.OK(tb, err)
		out.Write(e.Raw)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

func uuid(kind string, n int) string {
	h := hexOf(kind, n)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:32]}, "-")
}

func hexOf(kind string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return hex.EncodeToString(sum[:])
}

func wantFault(tb testing.TB, err error, code fault.Code, words ...string) {
	tb.Helper()
	if !fault.Is(err, code) {
		tb.Fatalf("got %v (%s), want %s", err, fault.CodeOf(err), code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			tb.Errorf("%q does not say %q", err, word)
		}
	}
}

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
		// Few verbs: each call is a commit, and with many checks the disk takes most of the time.
		names := slices.Sorted(maps.Keys(verbs))
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 10).Draw(rt, "verbs") {
			verbs[name](rt)
		}
		verbs["read"](rt)
		verbs["look at the last"](rt)
	})
}
