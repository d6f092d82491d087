package ndjson

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Open opens a log for reading. It reads nothing yet.
func Open(_ context.Context, path string, with ...run.Option) (run.Log, error) {
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
	return newFile(path, f, with), nil
}

// OpenWriter opens a log for appending, and makes it if there is none. It
// verifies what is there, or what follows after the event to Trust, and repairs
// a torn tail.
func OpenWriter(ctx context.Context, path string, with ...run.Option) (*Writer, error) {
	if err := checkFile(path); err != nil {
		return nil, err
	}
	lock, err := durable.TryLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	w, err := openLocked(ctx, path, with)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	w.lock = lock
	return w, nil
}

func openLocked(ctx context.Context, path string, with []run.Option) (*Writer, error) {
	// Of the names that appear here, none is ever half-made or replaced.
	err := durable.CreateFile(path, nil, 0o600)
	if err != nil && !fault.Is(err, fault.Conflict) {
		return nil, err
	}
	f, err := durable.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, newFile(path, f, with))
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
