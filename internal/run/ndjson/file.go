package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/run"
)

// file is a log open for reading. It implements run.Log.
type file struct {
	path string
	f    *step.File
	// size returns the valid length of the file.
	size func() (int64, error)
}

func newFile(path string, f *step.File) *file {
	l := &file{path: path, f: f}
	l.size = func() (int64, error) {
		info, err := f.Stat()
		if err != nil {
			return 0, durable.Failure("read", path, err)
		}
		return info.Size(), nil
	}
	return l
}

// Close implements run.Log.
func (l *file) Close() error { return durable.Failure("close", l.path, l.f.Close()) }

// Events implements run.Log.
func (l *file) Events(ctx context.Context, after int64) iter.Seq2[run.Entry, error] {
	return func(yield func(run.Entry, error) bool) {
		p, err := l.begin(after)
		if err != nil {
			yield(run.Entry{}, err)
			return
		}
		for e, err := range p.Events(ctx) {
			if err == nil {
				if !yield(e, nil) {
					return
				}
				continue
			}
			if err = p.judge(err); err != nil {
				yield(run.Entry{}, err)
			}
			return
		}
		if _, err := p.unfinished(); err != nil {
			yield(run.Entry{}, err)
		}
	}
}

// Last implements run.Log. The entry's Line is 0: it is unknown.
func (l *file) Last(ctx context.Context) (run.Entry, bool, error) {
	size, err := l.size()
	if err != nil {
		return run.Entry{}, false, err
	}
	at, line, ok, err := lastLine(l.f, size)
	if err != nil || !ok {
		return run.Entry{}, false, l.failed(err)
	}
	if len(line) <= run.MaxLine {
		if e, err := run.VerifyLine(line); err == nil {
			return run.Entry{Event: e, Offset: at, Raw: line}, true, nil
		}
	}
	// The last line is damaged, and its number is to be told, or it is a torn tail with a hole in it.
	var last run.Entry
	ok = false
	for e, err := range l.Events(ctx, 0) {
		if err != nil {
			return run.Entry{}, false, err
		}
		last, ok = e, true
	}
	return last, ok, nil
}

// failed gives an error of reading its fault.
func (l *file) failed(err error) error {
	if _, ours := fault.Of(err); ours || err == nil {
		return err
	}
	if bad := (*run.BadLine)(nil); errors.As(err, &bad) {
		return run.ChainBroken(l.path, bad.Line, bad.Offset, "%v", bad.Reason)
	}
	return durable.Failure("read", l.path, err)
}

// Open opens a log for reading. It reads nothing yet.
func Open(_ context.Context, path string) (run.Log, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	f, err := durable.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "no event log %s", path)
	}
	if err != nil {
		return nil, err
	}
	return newFile(path, f), nil
}

// OpenWriter opens a log for appending, and makes it if there is none. It
// verifies what is there, and repairs a torn tail.
func OpenWriter(ctx context.Context, path string) (*Writer, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	lock, err := durable.TryLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	w, err := openLocked(ctx, path)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	w.lock = lock
	return w, nil
}

func openLocked(ctx context.Context, path string) (*Writer, error) {
	// Of the names that appear here, none is ever half-made or replaced.
	err := durable.CreateFile(path, nil, 0o600)
	if err != nil && !fault.Is(err, fault.Conflict) {
		return nil, err
	}
	f, err := durable.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, newFile(path, f))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// checkFile refuses what cannot be a log before anything is made beside it. What
// does not exist passes.
func checkFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return durable.Failure("open", path, err)
	}
	return run.CheckLogFile(path, info)
}

// pass is one way through the lines of a file.
type pass struct {
	run.VerifiedStream
	log  *file
	size int64 // of the file, when the pass began
	end  int64 // without the NULs at the end

	// Set at the end of the pass: what follows the last line feed.
	rest                 []byte
	restLine, restOffset int64
}

// begin starts a pass after the first n events. The event before is read too, so that the next one is seen to follow.
func (l *file) begin(after int64) (*pass, error) {
	size, err := l.size()
	if err != nil {
		return nil, err
	}
	p := &pass{log: l, size: size}
	if p.end, err = trimNULs(l.f, size); err != nil {
		return nil, l.failed(err)
	}
	p.Given = after > 0
	p.Lines = p.lines(max(after, 1))
	return p, nil
}

// judge turns the error that ended a pass into a fault; nil if it ended at a torn
// tail, which readers ignore.
func (p *pass) judge(err error) error {
	bad := (*run.BadLine)(nil)
	if errors.As(err, &bad) {
		torn, readErr := isHole(p.log.f, bad.Offset, p.end)
		if readErr != nil {
			return p.log.failed(readErr)
		}
		if torn {
			return nil
		}
	}
	return p.log.failed(err)
}

// unfinished returns the bytes after the last line feed, NULs at the end aside. A whole
// line and one byte more was not left by a crash: that byte was a line feed.
func (p *pass) unfinished() ([]byte, error) {
	if len(p.rest) < 2 {
		return p.rest, nil
	}
	if _, err := run.VerifyLine(p.rest[:len(p.rest)-1]); err == nil {
		return nil, run.ChainBroken(p.log.path, p.restLine, p.restOffset, "the line ends with %q, not with a line feed", p.rest[len(p.rest)-1])
	}
	return p.rest, nil
}

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
