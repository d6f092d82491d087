package ndjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/run"
)

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

// syncFailure is STORAGE_IO whatever the cause: the disk may hold anything now.
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
