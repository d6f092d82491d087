package ndjson

import (
	"bytes"
	"errors"
	"io"

	"ramet/internal/run"
)

// trimNULs is where the NULs at the end begin.
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

// lastFeed is where the last line feed before end is, or -1.
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
