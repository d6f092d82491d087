package cli

import (
	"bytes"
	"io"
	"iter"
	"runtime"
	"sync"

	"ramet/internal/base/printer"
)

// A stretch of parts is printed at once: so many, or of so many bytes.
const (
	stretchEntries = 256
	stretchBytes   = 256 << 10
)

// stretch is some parts in a row, and what is printed of them.
type stretch struct {
	parts   []printer.Part
	size    int
	out     bytes.Buffer
	waits   bool          // for more: what takes long is not told from here on
	err     error         // that ended it early
	printed chan struct{} // closed when out and err are there
}

func newStretch() *stretch { return &stretch{printed: make(chan struct{})} }

// printLines prints the parts of a stream in their order, with all processors: the calling goroutine reads them, some make
// stretches into lines, and one writes them. What was printed before an error is written before the error is
// returned. A few stretches are in memory at a time. what names the parts where their number is shown.
func printLines(l *Line, to io.Writer, what string, all iter.Seq2[printer.Part, error]) error {
	printing := runtime.GOMAXPROCS(0)
	r := &relay{work: make(chan *stretch), order: make(chan *stretch, 2*printing), stop: make(chan struct{}), told: l.Progress(what)}
	defer r.told.End()
	var done sync.WaitGroup
	plain := *l.Printer() // which looks at the configuration
	for range printing {
		done.Go(func() {
			for s := range r.work {
				s.print(plain)
			}
		})
	}
	wrote := make(chan error, 1)
	go func() { wrote <- r.write(to) }()
	r.read(all)
	done.Wait()
	return <-wrote
}

// relay hands stretches from the reader to those who print, and in the order of reading to the writer.
type relay struct {
	work, order chan *stretch
	stop        chan struct{} // closed by the writer, who wants no more
	told        *Progress
}

// read cuts the parts into stretches, until they end or the writer does.
func (r *relay) read(all iter.Seq2[printer.Part, error]) {
	defer close(r.order)
	defer close(r.work)
	s := newStretch()
	for part, err := range all {
		if err != nil {
			s.err = err
			break
		}
		if part.Print != nil {
			s.parts, s.size = append(s.parts, part), s.size+part.Size
		}
		s.waits = part.Print == nil
		if s.waits || len(s.parts) == stretchEntries || s.size >= stretchBytes {
			if !r.hand(s) {
				return
			}
			s = newStretch()
		}
	}
	r.hand(s)
}

func (r *relay) hand(s *stretch) bool {
	select {
	case <-r.stop:
		return false
	case r.order <- s:
		r.work <- s
		return true
	}
}

// write writes stretches as they are ready, and returns the first error of all.
func (r *relay) write(to io.Writer) error {
	defer close(r.stop)
	for s := range r.order {
		<-s.printed
		if _, err := to.Write(s.out.Bytes()); err != nil {
			return err
		}
		if s.err != nil {
			return s.err
		}
		r.told.Add(len(s.parts))
		if s.waits {
			r.told.End()
			r.told = &Progress{}
		}
	}
	return nil
}

// print makes lines of the parts, up to the first that cannot be shown: an error of the reader stands
// behind all of them.
func (s *stretch) print(p printer.Printer) {
	defer close(s.printed)
	p.Out = &s.out
	for _, part := range s.parts {
		if err := part.Print(&p); err != nil {
			s.err = err
			return
		}
	}
}
