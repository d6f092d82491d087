package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync"

	"ramet/internal/base/fault"
)

// Chunk is a few whole lines that follow each other.
type Chunk struct {
	Lines  [][]byte // without line feeds; the entries keep them
	Line   int64    // number of the first, from 1
	Offset int64    // byte of the first in the log, or in its export
}

// BadChunk is a line that is not an event of the run, or not the next one.
type BadChunk struct {
	Line   int64
	Offset int64
	Reason error
}

func (b *BadChunk) Error() string {
	return fmt.Sprintf("line %d (byte %d): %v", b.Line, b.Offset, b.Reason)
}

// Unwrap returns the reason.
func (b *BadChunk) Unwrap() error { return b.Reason }

// VerifiedStream is one pass over a log.
type VerifiedStream struct {
	// Next reads the next chunk; io.EOF ends the log. It is called by one
	// goroutine at a time, and not after it failed.
	Next func(ctx context.Context) (Chunk, error)
	// Given skips the check of the first line: its hash is what the next line must name. It is not yielded.
	Given bool
	// Chain is the chain after the last event that was yielded; nil before the first.
	Chain *Chain
	// Last is the last event that was yielded, or taken as given.
	Last Entry
}

// batch is a chunk on its way: ready is closed when its lines were parsed.
type batch struct {
	Chunk
	entries []Entry
	bad     *BadChunk // what ended the entries, if it was a line
	err     error     // or the reading itself
	ready   chan struct{}
}

// Events runs the pass. It can be run once.
func (s *VerifiedStream) Events(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var helpers sync.WaitGroup
		defer helpers.Wait()
		defer cancel()
		workers := runtime.GOMAXPROCS(0)
		order := make(chan *batch, 2*workers) // bounds what is read ahead
		work := make(chan *batch, 2*workers)
		whole := false // the end was read; set before order is closed
		helpers.Go(func() {
			defer close(order)
			whole = s.read(ctx, order, work)
		})
		for range workers {
			helpers.Go(func() {
				for b := range work {
					b.parse()
					close(b.ready)
				}
			})
		}
		for b := range order {
			<-b.ready
			for i := range b.entries {
				if err := ctx.Err(); err != nil {
					yield(Entry{}, CancelledRead("read events", err))
					return
				}
				if s.given(b.entries[i]) {
					continue
				}
				if err := s.follow(b.entries[i].Event); err != nil {
					yield(Entry{}, &BadChunk{b.entries[i].Line, b.entries[i].Offset, err})
					return
				}
				s.Last = b.entries[i]
				if !yield(s.Last, nil) {
					return
				}
			}
			if b.bad != nil {
				yield(Entry{}, b.bad)
				return
			}
			if err := b.err; err != nil { // the reader still looks at b.err
				if cause := ctx.Err(); cause != nil {
					err = CancelledRead("read events", cause)
				}
				yield(Entry{}, err)
				return
			}
		}
		if !whole { // a cancelled reading is never taken for a short log
			yield(Entry{}, CancelledRead("read events", ctx.Err()))
		}
	}
}

// CancelledRead returns the fault of a verb that was cancelled by its context.
func CancelledRead(verb string, cause error) error {
	code := fault.Cancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		code = fault.TimedOut
	}
	return fault.New(code, "%s: %w", verb, cause)
}

// read sends chunks to the parsing goroutines and, in order, to the consumer. A failure is a batch of its own, so
// that it comes after what was read before. It reports whether the end of the log was reached.
func (s *VerifiedStream) read(ctx context.Context, order, work chan<- *batch) (whole bool) {
	defer close(work)
	for {
		b := &batch{ready: make(chan struct{})}
		b.Chunk, b.err = s.Next(ctx)
		if errors.Is(b.err, io.EOF) {
			return true
		}
		if b.err != nil {
			close(b.ready)
		} else if !sendBatch(ctx, work, b) {
			return false
		}
		if !sendBatch(ctx, order, b) || b.err != nil {
			return false
		}
	}
}

func sendBatch(ctx context.Context, to chan<- *batch, b *batch) bool {
	select {
	case to <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

// given accepts the first line as it is if Given is set.
func (s *VerifiedStream) given(e Entry) bool {
	if !s.Given || s.Chain != nil {
		return false
	}
	s.Chain, s.Last = NewChain(e.RunID, e.Hash), e
	return true
}

func (s *VerifiedStream) follow(e Event) (err error) {
	if s.Chain == nil {
		if s.Chain, err = BeginChain(e); err != nil {
			return err
		}
	}
	return s.Chain.Follow(e)
}

// parse makes entries of the lines, up to the first that is none.
func (b *batch) parse() {
	b.entries = make([]Entry, 0, len(b.Lines))
	offset := b.Offset
	for i, line := range b.Lines {
		e, err := ParseChunk(line)
		if err != nil {
			b.bad = &BadChunk{b.Line + int64(i), offset, err}
			return
		}
		b.entries = append(b.entries, Entry{Event: e, Line: b.Line + int64(i), Offset: offset, Raw: line})
		offset += int64(len(line)) + 1
	}
}

// ParseChunk reads one line and checks its hash.
func ParseChunk(line []byte) (Event, error) {
	e, err := ParseLine(line)
	if err != nil {
		return e, explainLine(line, err)
	}
	if !e.Intact() {
		return e, errHash
	}
	return e, nil
}

// explainLine names the usual accidents, which a parser can only call unexpected.
func explainLine(line []byte, err error) error {
	switch {
	case len(line) == 0:
		return errors.New("the line is blank")
	case len(line) > MaxLine:
		return fmt.Errorf("the line is longer than %d bytes", MaxLine)
	case bytes.HasPrefix(line, []byte("\xef\xbb\xbf")):
		return errors.New("the line begins with a byte order mark")
	case bytes.HasSuffix(line, []byte("\r")):
		return errors.New("the line ends with CR LF, not with LF alone")
	case bytes.IndexByte(line, 0) >= 0:
		return fmt.Errorf("a NUL is %d bytes into the line", bytes.IndexByte(line, 0))
	}
	return err
}
