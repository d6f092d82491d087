package cli

import (
	"bufio"
	"cmp"
	"io"
	"iter"

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
