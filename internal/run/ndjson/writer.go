package ndjson

import (
	"context"
	"errors"
	"os"
	"sync"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Writer is a log open for appending. It implements run.Writer.
type Writer struct {
	*file
	commits *run.Committer
	lock    *durable.Held
	repair  *Repair
	closing sync.Once

	// Of the committing goroutine; mu guards end against concurrent readers.
	mu   sync.Mutex
	end  int64  // up to here the file is durable
	room []byte // reused
}

func newWriter(ctx context.Context, l *file) (*Writer, error) {
	p, err := l.begin(ctx, l.known.Count)
	if err != nil {
		return nil, err
	}
	state, end, repair, err := p.finish(ctx)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: l, end: end, repair: repair}
	w.commits = run.NewCommitter(l.path, state, w.commit)
	l.size = w.durable // readers of a writer see no more than it acknowledged
	return w, nil
}

func (w *Writer) durable() (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end, nil
}

// Repaired returns the repair of a torn tail when the log was opened.
func (w *Writer) Repaired() (Repair, bool) {
	if w.repair == nil {
		return Repair{}, false
	}
	return *w.repair, true
}

// Append implements run.Writer.
func (w *Writer) Append(ctx context.Context, drafts ...run.Draft) ([]run.Event, error) {
	return w.commits.Append(ctx, drafts...)
}

// Last implements run.Log, from memory.
func (w *Writer) Last(context.Context) (run.Entry, bool, error) {
	s := w.commits.State()
	return s.Last, s.Count > 0, nil
}

// Count returns the number of events in the log.
func (w *Writer) Count() int64 { return w.commits.State().Count }

// Close waits for what is being written and gives back the lock.
func (w *Writer) Close() (err error) {
	w.closing.Do(func() {
		w.commits.Close()
		err = errors.Join(w.file.Close(), w.lock.Unlock())
	})
	return err
}

// largestRoom limits the memory that is kept between commits.
const largestRoom = 1 << 20

// commit writes lines after what is durable. It is a run.CommitSink.
func (w *Writer) commit(entries []run.Entry) error {
	data := w.room[:0]
	for i := range entries {
		entries[i].Offset = w.end + int64(len(data))
		data = append(append(data, entries[i].Raw...), '\n')
	}
	if cap(data) <= largestRoom {
		w.room = data
	}
	// At an offset, not at the end: if ever something were left there, it would
	// be overwritten and not continued.
	if _, err := w.f.WriteAt(data, w.end); err != nil {
		return w.undo(durable.Failure("append to", w.path, err))
	}
	if err := datasync(w.f); err != nil {
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
	if err := datasync(w.f); err != nil {
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
