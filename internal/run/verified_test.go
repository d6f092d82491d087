package run_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	_ "ramet/internal/testkit"
	"ramet/internal/testkit/runtest"
)

// source gives lines in chunks of n, and then an error.
func source(lines [][]byte, n int, end error) func(context.Context) (run.Chunk, error) {
	at, offset := 0, int64(0)
	return func(context.Context) (run.Chunk, error) {
		if at == len(lines) {
			return run.Chunk{}, end
		}
		c := run.Chunk{Lines: lines[at:min(at+n, len(lines))], Line: int64(at + 1), Offset: offset}
		at += len(c.Lines)
		for _, line := range c.Lines {
			offset += int64(len(line)) + 1
		}
		return c, nil
	}
}

func logSample(n int) [][]byte {
	all := bytes.Split(runtest.LogLines(runtest.LogDrafts(0, n)...), []byte("\n"))
	return all[:n]
}

// However lines are cut into chunks: all come, in order, and the first bad one
// ends them.
func TestOrderAndEnd(t *testing.T) { synctest.Test(t, orderAndEnd) } // which sees helpers that stay

func orderAndEnd(t *testing.T) {
	broken := errors.New("the disk")
	for _, size := range []int{1, 2, 7, 100} {
		for bad := -1; bad < 50; bad += 3 {
			lines := logSample(50)
			want := 50
			if bad >= 0 {
				lines[bad] = bytes.Replace(lines[bad], []byte(`"ts":"2026`), []byte(`"ts":"2027`), 1)
				want = bad
			}
			s := &run.VerifiedStream{Next: source(lines, size, broken)}
			n := 0
			for e, err := range s.Events(t.Context()) {
				if err == nil {
					n++
					if e.Line != int64(n) || e.ID != runtest.LogDraft(n-1).ID {
						t.Fatalf("chunks of %d: event %d is line %d", size, n, e.Line)
					}
					continue
				}
				damage := (*run.BadChunk)(nil)
				if found := errors.As(err, &damage); found != (bad >= 0) || found && damage.Line != int64(bad+1) || !found && !errors.Is(err, broken) {
					t.Fatalf("chunks of %d, bad %d: %v", size, bad, err)
				}
			}
			if n != want || n > 0 && (s.Last.Line != int64(n) || s.Chain.Prev() != s.Last.Hash) {
				t.Fatalf("chunks of %d, bad %d: %d events", size, bad, n)
			}
		}
	}
}

// Breaking off, and being cancelled, end all helpers; and a cancelled reading is
// never a shorter log.
func TestBreakingOff(t *testing.T) { synctest.Test(t, breakingOff) }

func breakingOff(t *testing.T) {
	lines := logSample(200)
	for stop := range 60 {
		s := &run.VerifiedStream{Next: source(lines, 3, io.EOF)}
		n := 0
		for range s.Events(t.Context()) {
			if n++; n > stop {
				break
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		s = &run.VerifiedStream{Next: source(lines, 3, io.EOF)}
		n = 0
		var last error
		for _, err := range s.Events(ctx) {
			if last = err; err == nil {
				n++
			}
			if n == stop {
				cancel()
			}
		}
		cancel()
		if stop > 0 && (!fault.Is(last, fault.Cancelled) || n != stop) {
			t.Fatalf("cancelled after %d: %d events, %v", stop, n, last)
		}
	}
}
