package ndjson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"ramet/internal/run"
)

// lines yields the whole lines of a file from number first on. At the end, rest is what has no line feed.
func (p *pass) lines(first int64) func(func(run.Entry, error) bool) {
	return func(yield func(run.Entry, error) bool) {
		s := bufio.NewScanner(io.NewSectionReader(p.log.f, 0, p.end))
		s.Buffer(make([]byte, 64<<10), run.MaxLine+1)
		s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			if i := bytes.IndexByte(data, '\n'); i >= 0 {
				return i + 1, data[:i+1], nil
			}
			if atEOF {
				p.rest = bytes.Clone(data)
			}
			return 0, nil, nil
		})
		e := run.Entry{Line: 1}
		for ; s.Scan(); e.Line++ {
			if size := len(s.Bytes()); e.Line >= first {
				e.Raw = bytes.Clone(s.Bytes()[:size-1])
				if !yield(e, nil) {
					return
				}
			}
			e.Offset += int64(len(s.Bytes()))
		}
		err := s.Err()
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			err = &run.BadLine{Line: e.Line, Offset: e.Offset, Reason: fmt.Errorf("the line is longer than %d bytes", run.MaxLine)}
		case err == nil && e.Line <= first && first > 1:
			err = run.ChainBroken(p.log.path, e.Line, e.Offset, "the log ends here, before event %d", first)
		}
		p.restLine, p.restOffset = e.Line, e.Offset
		if err != nil {
			yield(run.Entry{}, err)
		}
	}
}

// trimNULs returns where the NULs at the end begin.
func trimNULs(r io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 4096)
	for size > 0 {
		n := min(size, int64(len(buf)))
		if err := readAt(r, buf[:n], size-n); err != nil {
			return 0, err
		}
		if kept := len(bytes.TrimRight(buf[:n], "\x00")); kept > 0 {
			return size - n + int64(kept), nil
		}
		size -= n
		buf = make([]byte, min(2*len(buf), 1<<20))
	}
	return 0, nil
}

// lastLine finds the last line that has an end, reading from the back; of one that
// is longer than any may be, only that much.
func lastLine(r io.ReaderAt, size int64) (at int64, line []byte, ok bool, err error) {
	feed, err := lastFeed(r, size)
	if err != nil || feed < 0 {
		return 0, nil, false, err
	}
	before, err := lastFeed(r, feed)
	if err != nil {
		return 0, nil, false, err
	}
	at = before + 1
	line = make([]byte, min(feed-at, run.MaxLine+1))
	return at, line, true, readAt(r, line, at)
}

// lastFeed returns where the last line feed before end is, or -1.
func lastFeed(r io.ReaderAt, end int64) (int64, error) {
	buf := make([]byte, 4096)
	for end > 0 {
		n := min(end, int64(len(buf)))
		if err := readAt(r, buf[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i), nil
		}
		end -= n
		buf = make([]byte, min(2*len(buf), 1<<20))
	}
	return -1, nil
}

// readAt reads all of b: the file does not end before.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
