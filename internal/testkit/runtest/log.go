package runtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

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
