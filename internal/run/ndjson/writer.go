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
