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
	"sync"
	"time"

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

// Writer is a log open for appending. It implements run.Writer.
type Writer struct {
	*file
	*run.Appender
	lock    *durable.Held
	repair  *Repair
	closing sync.Once

	mu  sync.Mutex // guards end
	end int64      // up to here the file is durable
}

func newWriter(ctx context.Context, l *file) (*Writer, error) {
	p, err := l.begin(0)
	if err != nil {
		return nil, err
	}
	end, repair, err := p.finish(ctx)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: l, end: end, repair: repair}
	w.Appender = run.NewAppender(l.path, p.Chain, p.Last, w.write)
	l.size = func() (int64, error) { // readers of a writer see no more than it acknowledged
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.end, nil
	}
	return w, nil
}

// Repaired returns the repair of a torn tail when the log was opened.
func (w *Writer) Repaired() (Repair, bool) {
	if w.repair == nil {
		return Repair{}, false
	}
	return *w.repair, true
}

// Last implements run.Log, from memory.
func (w *Writer) Last(ctx context.Context) (run.Entry, bool, error) { return w.Appender.Last(ctx) }

// Close waits for what is being written and gives back the lock.
func (w *Writer) Close() (err error) {
	w.closing.Do(func() {
		w.Appender.Close()
		err = errors.Join(w.file.Close(), w.lock.Unlock())
	})
	return err
}

// write writes lines after what is durable.
func (w *Writer) write(entries []run.Entry) error {
	var data []byte
	for i := range entries {
		entries[i].Offset = w.end + int64(len(data))
		data = append(append(data, entries[i].Raw...), '\n')
	}
	// At an offset, not at the end: if ever something were left there, it would
	// be overwritten and not continued.
	if _, err := w.f.WriteAt(data, w.end); err != nil {
		return w.undo(durable.Failure("append to", w.path, err))
	}
	if err := w.f.Sync(); err != nil {
		return &run.FatalError{Err: syncFailure(w.path, err)}
	}
	w.mu.Lock()
	w.end += int64(len(data))
	w.mu.Unlock()
	return nil
}

// undo removes a write that failed: its caller is told that nothing
// was written.
func (w *Writer) undo(cause error) error {
	if err := w.f.Truncate(w.end); err != nil {
		return &run.FatalError{Err: fault.New(fault.StorageIO, "%w; and cutting it back failed: %v", cause, err)}
	}
	if err := w.f.Sync(); err != nil {
		return &run.FatalError{Err: syncFailure(w.path, err)}
	}
	return cause
}

// syncFailure returns STORAGE_IO whatever the cause: the disk may hold anything now.
func syncFailure(path string, err error) error {
	if err == nil {
		return nil
	}
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return fault.New(fault.StorageIO, "sync %s: %w", path, err).
		WithHint("the disk failed; what was acknowledged before is in the log")
}

// Repair describes the repair of a torn tail.
type Repair struct {
	Line   int64  // the line that was torn, from 1
	Offset int64  // where it begins
	Kept   bool   // it was whole and only had no line feed; now it has
	Cut    int64  // how many bytes were cut off
	Saved  string // the file that holds them; empty: none were cut
}

// String describes the repair for people.
func (r Repair) String() string {
	switch {
	case r.Kept && r.Cut > 0:
		return fmt.Sprintf("line %d (byte %d) was complete; the %d bytes after it were cut and kept in %s", r.Line, r.Offset, r.Cut, r.Saved)
	case r.Kept:
		return fmt.Sprintf("line %d (byte %d) was whole and was ended", r.Line, r.Offset)
	}
	return fmt.Sprintf("line %d (byte %d) was torn; %d bytes were cut and kept in %s", r.Line, r.Offset, r.Cut, r.Saved)
}

// Torn returns what follows the last whole line, without changing anything: what the
// next writer would end or cut. It implements run.Torn. Beside a writer it may be a line
// that is being written.
func (l *file) Torn(ctx context.Context) (run.Tail, bool, error) {
	p, err := l.begin(0)
	if err != nil {
		return run.Tail{}, false, err
	}
	for _, err = range p.Events(ctx) {
	}
	if err != nil {
		err = p.judge(err)
	}
	if err != nil {
		return run.Tail{}, false, err
	}
	tail := run.Tail{Line: p.Last.Line + 1, Offset: p.good()}
	tail.Bytes = p.size - tail.Offset
	return tail, tail.Bytes > 0, nil
}

// good returns the offset at which the last whole line ends.
func (p *pass) good() int64 {
	if p.Chain == nil {
		return 0
	}
	return p.Last.Offset + int64(len(p.Last.Raw)) + 1
}

// finish verifies the rest of the log, repairs its tail and returns where the log ends, in bytes; Chain and Last are
// then its end in events.
func (p *pass) finish(ctx context.Context) (size int64, repair *Repair, err error) {
	var rest []byte
	for _, err = range p.Events(ctx) {
	}
	if err != nil {
		err = p.judge(err) // torn; nothing of it can be kept
	} else {
		rest, err = p.unfinished()
	}
	if err != nil {
		return 0, nil, err
	}
	good := p.good()
	if good == p.size {
		return good, nil, nil
	}
	repair = &Repair{Line: p.Last.Line + 1, Offset: good}
	if e, err := run.VerifyLine(rest); err == nil && p.follows(e) {
		repair.Kept = true
		p.Last = run.Entry{Event: e, Line: repair.Line, Offset: good, Raw: rest}
		good += int64(len(rest))
	}
	if repair.Cut = p.size - good; repair.Cut > 0 {
		if repair.Saved, err = p.save(good); err != nil {
			return 0, nil, err
		}
		if err := p.log.f.Truncate(good); err != nil {
			return 0, nil, durable.Failure("cut", p.log.path, err)
		}
	}
	if repair.Kept {
		if _, err := p.log.f.WriteAt([]byte{'\n'}, good); err != nil {
			return 0, nil, durable.Failure("end the last line of", p.log.path, err)
		}
		good++
	}
	return good, repair, syncFailure(p.log.path, p.log.f.Sync())
}

// follows takes a line that had no line feed, if it is the next one.
func (p *pass) follows(e run.Event) bool {
	chain := p.Chain
	if chain == nil {
		var err error
		if chain, err = run.BeginChain(e); err != nil {
			return false
		}
	}
	if chain.Follow(e) != nil {
		return false
	}
	p.Chain = chain
	return true
}

// mostNULs limits the NULs of a tail that are kept: they are worthless, and a file
// system may leave a great many.
const mostNULs = 1 << 20

// save keeps what is going to be cut, durably, in a file of its own.
func (p *pass) save(from int64) (string, error) {
	cut := make([]byte, max(0, p.end-from)+min(p.size-max(p.end, from), mostNULs))
	if err := readAt(p.log.f, cut, from); err != nil {
		return "", p.log.failed(err)
	}
	mode := os.FileMode(0o600)
	if info, err := p.log.f.Stat(); err == nil {
		mode = info.Mode().Perm()
	}
	for {
		name := p.log.path + ".torn-" + time.Now().UTC().Format("20060102T150405.000000000Z")
		if err := durable.CreateFile(name, cut, mode); !fault.Is(err, fault.Conflict) {
			return name, err
		}
	}
}

// sector is the least that a disk writes. Where a crash lost a part of a write,
// the NULs in its place end with a sector.
const sector = 512

// longestHole bounds what a crash can have left after the last whole line: more
// than is written at once.
const longestHole = run.MaxLine + 32<<20

// isHole reports whether the file, from a line that is no event on, is what a crash
// leaves of a write that the disk did in another order: NULs up to the end of a
// sector, and no event after them. Two NULs at least: one may be a flipped bit.
func isHole(r io.ReaderAt, from, end int64) (bool, error) {
	if end-from > longestHole {
		return false, nil
	}
	data := make([]byte, end-from)
	if err := readAt(r, data, from); err != nil {
		return false, err
	}
	first, _, _ := bytes.Cut(data, []byte{'\n'})
	if !endsSector(first, from) {
		return false, nil
	}
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		// What the disk did keep may begin in the middle of a line.
		line = line[bytes.LastIndexByte(line, 0)+1:]
		if _, err := run.VerifyLine(line); err == nil {
			return false, nil
		}
	}
	return true, nil
}

// endsSector looks for NULs that go up to the end of a sector.
func endsSector(line []byte, at int64) bool {
	for i := 1; i < len(line); i++ {
		if line[i] == 0 && line[i-1] == 0 && (at+int64(i)+1)%sector == 0 {
			return true
		}
	}
	return false
}
