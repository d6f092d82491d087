package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"ramet/internal/base/fault"
)

// BadLine is a line that is not an event of the run, or not the next one.
type BadLine struct {
	Line   int64 // from 1
	Offset int64 // of its first byte in the log, or in its export
	Reason error
}

func (b *BadLine) Error() string {
	return fmt.Sprintf("line %d (byte %d): %v", b.Line, b.Offset, b.Reason)
}

// Unwrap returns the reason.
func (b *BadLine) Unwrap() error { return b.Reason }

// VerifiedStream is one pass over the lines of a log.
type VerifiedStream struct {
	// Lines yields entries that have a place and Raw, and no event yet.
	Lines iter.Seq2[Entry, error]
	// Given skips the check of the first line: its hash is what the next line must name. It is not yielded.
	Given bool
	// Chain is the chain after the last event that was yielded; nil before the first.
	Chain *Chain
	// Last is the last event that was yielded, or taken as given.
	Last Entry
}

// Events runs the pass. It can be run once. A line that does not fit is a *BadLine.
func (s *VerifiedStream) Events(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(Entry{}, CancelledRead("read events", err))
			return
		}
		for e, err := range s.Lines {
			if cause := ctx.Err(); cause != nil {
				err = CancelledRead("read events", cause)
			}
			if err == nil {
				if err = s.follow(&e); err != nil {
					err = &BadLine{e.Line, e.Offset, err}
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			s.Last = e
			if s.Given {
				s.Given = false
			} else if !yield(e, nil) {
				return
			}
		}
	}
}

// follow reads the event of a line and adds it to the chain.
func (s *VerifiedStream) follow(e *Entry) (err error) {
	if e.Event, err = VerifyLine(e.Raw); err != nil {
		return err
	}
	if s.Given {
		s.Chain = NewChain(e.RunID, e.Hash)
		return nil
	}
	if s.Chain == nil {
		if s.Chain, err = BeginChain(e.Event); err != nil {
			return err
		}
	}
	return s.Chain.Follow(e.Event)
}

// CancelledRead returns the fault of a verb that was cancelled by its context.
func CancelledRead(verb string, cause error) error {
	code := fault.Cancelled
	if errors.Is(cause, context.DeadlineExceeded) {
		code = fault.TimedOut
	}
	return fault.New(code, "%s: %w", verb, cause)
}

// VerifyLine reads one line and checks its hash.
func VerifyLine(line []byte) (Event, error) {
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
	case bytes.HasPrefix(line, []byte("\xef\xbb\xbf")):
		return errors.New("the line begins with a byte order mark")
	case bytes.HasSuffix(line, []byte("\r")):
		return errors.New("the line ends with CR LF, not with LF alone")
	case bytes.IndexByte(line, 0) >= 0:
		return fmt.Errorf("a NUL is %d bytes into the line", bytes.IndexByte(line, 0))
	}
	return err
}
