package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/printer"
	"ramet/internal/operation/session"
)

// numberedParts are n parts, and then an error, if there is one.
func numberedParts(n int, last error) iter.Seq2[printer.Part, error] {
	return func(yield func(printer.Part, error) bool) {
		for i := range n {
			if !yield(numberedPart(i), nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

func numberedPart(i int) printer.Part {
	return func(p *printer.Printer) error {
		_, err := fmt.Fprintln(p.Out, i)
		return err
	}
}

func testLine(stderr io.Writer, now func() time.Time) *Line {
	return &Line{Streams: Streams{Stderr: stderr, ErrTerminal: true},
		Session: &session.Session{System: session.System{Getenv: func(string) string { return "" }, Now: now}}}
}

func TestLinesComeInOrderUpToTheFirstError(t *testing.T) {
	unreadable, unshown := errors.New("unreadable"), errors.New("unshown")
	for _, c := range []struct {
		name string
		n    int
		read error
		at   int // that cannot be shown; 0: all can
		want int
		err  error
	}{
		{name: "none"}, {name: "one", n: 1, want: 1}, {name: "many", n: 10 * 256, want: 10 * 256},
		{name: "the reader fails", n: 3*256 + 5, read: unreadable, want: 3*256 + 5, err: unreadable},
		{name: "one cannot be shown", n: 9 * 256, at: 700, want: 700, err: unshown},
		{name: "before the reader fails", n: 100, read: unreadable, at: 50, want: 50, err: unshown},
	} {
		var out bytes.Buffer
		i := 0
		err := printLines(testLine(io.Discard, time.Now), &out, "messages", func(yield func(printer.Part, error) bool) {
			for part, err := range numberedParts(c.n, c.read) {
				if c.at != 0 && i >= c.at && err == nil {
					part = func(*printer.Printer) error { return unshown }
				}
				if i++; !yield(part, err) {
					return
				}
			}
		})
		var want strings.Builder
		for i := range c.want {
			fmt.Fprintln(&want, i)
		}
		if err != c.err || out.String() != want.String() {
			t.Errorf("%s: %v, %d bytes, want %v and %d", c.name, err, out.Len(), c.err, want.Len())
		}
	}
}

// full takes no more after some writes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// A reader of a history without end stops when nobody takes the lines.
func TestNobodyReadsOnForAWriterThatFailed(t *testing.T) {
	endless := func(yield func(printer.Part, error) bool) {
		for i := 0; yield(numberedPart(i), nil); i++ {
		}
	}
	if err := printLines(testLine(io.Discard, time.Now), &full{left: 3}, "messages", endless); err != io.ErrShortWrite {
		t.Error(err)
	}
}

func TestWhatTakesLongIsTold(t *testing.T) {
	var told bytes.Buffer
	at := time.Unix(0, 0)
	clock := func() time.Time { at = at.Add(300 * time.Millisecond); return at }
	if err := printLines(testLine(&told, clock), io.Discard, "messages", numberedParts(10, nil)); err != nil {
		t.Error(err)
	}
	if s := told.String(); !strings.Contains(s, "10 messages, 3 s") || !strings.HasSuffix(s, "\r\x1b[K") || strings.Contains(s, " 0 s") {
		t.Errorf("%q", s)
	}
}
