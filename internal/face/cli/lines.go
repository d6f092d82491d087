package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"ramet/internal/base/printer"
)

// linesBuffer is the size of the buffer between a stream and the standard output, in bytes.
const linesBuffer = 256 << 10

// printLines prints the parts of a stream in their order. What was printed before an error is written before the
// error is returned. what names the parts where their number is shown.
func printLines(l *Line, to io.Writer, what string, all iter.Seq2[printer.Part, error]) (err error) {
	told := l.Progress(what)
	defer func() { told.End() }()
	p, out := l.Printer(), bufio.NewWriterSize(to, linesBuffer)
	defer func() { err = cmp.Or(out.Flush(), err) }()
	p.Out = out
	for part, err := range all {
		if err == nil && part != nil {
			err = part(p)
			told.Add(1)
		} else if err == nil { // the reader waits for more: what takes long is not told from here on
			err = out.Flush()
			told.End()
			told = &Progress{}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Progress tells, of work that takes longer than a second, how much of it is done: on standard
// error, where that is a terminal and standard output is none, on one line that changes and is gone
// at the end.
type Progress struct {
	out     io.Writer // nil: nothing is shown
	what    string
	now     func() time.Time
	mu      sync.Mutex
	begun   time.Time
	last    time.Time // shown
	count   int
	visible bool
}

// Progress begins to count.
func (l *Line) Progress(what string) *Progress {
	p := &Progress{what: what, now: l.Now}
	if l.ErrTerminal && !l.Terminal {
		p.out, p.begun = l.Stderr, l.Now()
	}
	return p
}

// Begins and pause of what is shown.
const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// Add counts n more. Any goroutine may.
func (p *Progress) Add(n int) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count += n
	now := p.now()
	if now.Sub(p.begun) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.visible = now, true
	fmt.Fprintf(p.out, "\r\x1b[K%d %s, %.0f s", p.count, p.what, now.Sub(p.begun).Seconds())
}

// End takes the line away.
func (p *Progress) End() {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.visible {
		io.WriteString(p.out, "\r\x1b[K")
	}
	p.visible = false
}
