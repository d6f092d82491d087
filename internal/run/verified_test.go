package run_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	_ "ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// source yields lines, and then an error.
func source(lines [][]byte, end error) iter.Seq2[run.Entry, error] {
	return func(yield func(run.Entry, error) bool) {
		e := run.Entry{Line: 1}
		for _, e.Raw = range lines {
			if !yield(e, nil) {
				return
			}
			e.Line, e.Offset = e.Line+1, e.Offset+int64(len(e.Raw))+1
		}
		if end != nil {
			yield(run.Entry{}, end)
		}
	}
}

func logSample(n int) [][]byte {
	all := bytes.Split(runtest.LogLines(runtest.LogDrafts(0, n)...), []byte("\n"))
	return all[:n]
}

// All lines come, in order, and the first bad one ends them.
func TestOrderAndEnd(t *testing.T) {
	broken := errors.New("the disk")
	for bad := -1; bad < 50; bad += 3 {
		lines := logSample(50)
		want := 50
		if bad >= 0 {
			lines[bad] = bytes.Replace(lines[bad], []byte(`"ts":"2026`), []byte(`"ts":"2027`), 1)
			want = bad
		}
		s := &run.VerifiedStream{Lines: source(lines, broken)}
		n := 0
		for e, err := range s.Events(t.Context()) {
			if err == nil {
				n++
				if e.Line != int64(n) || e.ID != runtest.LogDraft(n-1).ID {
					t.Fatalf("event %d is line %d", n, e.Line)
				}
				continue
			}
			damage := (*run.BadLine)(nil)
			if found := errors.As(err, &damage); found != (bad >= 0) || found && damage.Line != int64(bad+1) || !found && !errors.Is(err, broken) {
				t.Fatalf("bad %d: %v", bad, err)
			}
		}
		if n != want || n > 0 && (s.Last.Line != int64(n) || s.Chain.Prev() != s.Last.Hash) {
			t.Fatalf("bad %d: %d events", bad, n)
		}
	}
}

// A cancelled reading is never a shorter log.
func TestCancelledReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &run.VerifiedStream{Lines: source(logSample(20), nil)}
	n := 0
	var last error
	for _, err := range s.Events(ctx) {
		if last = err; err == nil {
			n++
		}
		if n == 7 {
			cancel()
		}
	}
	cancel()
	if !fault.Is(last, fault.Cancelled) || n != 7 {
		t.Errorf("%d events, %v", n, last)
	}
}
