package ndjson

import (
	"context"
	"errors"
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
	return l.lastOfAll(ctx)
}

// lastOfAll reads the whole log: the last line is damaged, and its number is to be
// told, or it is a torn tail with a hole in it.
func (l *file) lastOfAll(ctx context.Context) (last run.Entry, ok bool, err error) {
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
