package ndjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"ramet/internal/run"
)

// chunkSize is the number of bytes that are read at once. An entry keeps its chunk in memory.
const chunkSize = 128 << 10

// lines cuts a part of a file into chunks of whole lines.
type lines struct {
	r    io.ReaderAt
	at   int64  // where to read next
	end  int64  // where to stop
	line int64  // number of the line that rest begins
	rest []byte // read already: the beginning of a line
}

// next gives the next lines that are whole. At the end, rest is what has no line
// feed.
func (l *lines) next(ctx context.Context) (run.Chunk, error) {
	for {
		if err := ctx.Err(); err != nil {
			return run.Chunk{}, err
		}
		data, err := l.read()
		if err != nil {
			return run.Chunk{}, err
		}
		whole := bytes.LastIndexByte(data, '\n') + 1
		if whole == 0 {
			l.rest = data
			if len(data) > run.MaxLine {
				return run.Chunk{}, &run.BadChunk{Line: l.line, Offset: l.at - int64(len(data)), Reason: fmt.Errorf("the line is longer than %d bytes", run.MaxLine)}
			}
			continue
		}
		c := run.Chunk{Line: l.line, Offset: l.at - int64(len(data)), Lines: make([][]byte, 0, bytes.Count(data[:whole], []byte{'\n'}))}
		for left := data[:whole]; len(left) > 0; {
			n := bytes.IndexByte(left, '\n')
			c.Lines = append(c.Lines, left[:n:n])
			left = left[n+1:]
		}
		l.rest = data[whole:]
		l.line += int64(len(c.Lines))
		return c, nil
	}
}

// read gives rest and what follows it, in fresh memory: the lines go to others.
func (l *lines) read() ([]byte, error) {
	// Long lines double what is read, so that they are not copied too often.
	n := min(int64(max(chunkSize, len(l.rest))), l.end-l.at)
	if n <= 0 {
		return nil, io.EOF
	}
	data := make([]byte, len(l.rest)+int(n))
	copy(data, l.rest)
	got, err := l.r.ReadAt(data[len(l.rest):], l.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if got == 0 {
		return nil, io.EOF // a writer took back what failed
	}
	l.at += int64(got)
	return data[:len(l.rest)+got], nil
}

// skip goes forward to the beginning of a line that has an end; io.EOF if there
// is none.
func (l *lines) skip(ctx context.Context, line int64) error {
	buf := make([]byte, 4*chunkSize)
	start, found := l.at, l.line == line
	for at := l.at; ; {
		if err := ctx.Err(); err != nil {
			return run.CancelledRead("read events", err)
		}
		n, err := l.r.ReadAt(buf[:min(int64(len(buf)), l.end-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			l.at = start
			return io.EOF
		}
		for data := buf[:n]; len(data) > 0; {
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				break
			}
			if found {
				l.at = start
				return nil
			}
			data = data[i+1:]
			start = at + int64(n-len(data))
			l.line++
			found = l.line == line
		}
		at += int64(n)
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

// findHash finds the line of an event by its hash, from the back. A line begins
// with its hash.
func findHash(r io.ReaderAt, end int64, hash string) (int64, bool, error) {
	mark := []byte("\n{\"event_hash\":\"" + hash + "\"")
	first := mark[1:]
	buf := make([]byte, 2*chunkSize)
	for end >= int64(len(first)) {
		n := min(end, int64(len(buf)))
		block := buf[:n]
		if err := readAt(r, block, end-n); err != nil {
			return 0, false, err
		}
		if i := bytes.LastIndex(block, mark); i >= 0 {
			return end - n + int64(i) + 1, true, nil
		}
		if n == end {
			return 0, bytes.HasPrefix(block, first), nil
		}
		end -= n - int64(len(mark)-1) // blocks overlap, or a mark could lie between
	}
	return 0, false, nil
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
