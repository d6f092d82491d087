package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// A new file is empty for a moment, and a first start that is killed leaves it so. A
// file that held a workspace and is empty now was emptied by another process. What tells them
// apart is a mark, kept elsewhere, that is made once the tables are there.

func isMarked(mark string) bool {
	_, err := os.Lstat(mark)
	return mark != "" && err == nil
}

// markBegun remembers that a database was begun. Where that cannot be written, work continues
// without.
func markBegun(at, path string) {
	if at == "" || durable.MakeFolder(filepath.Dir(at), 0o700) != nil {
		return
	}
	_ = durable.CreateFile(at, []byte(path+"\n"), 0o600)
}

// unmarkBegun forgets a database that is gone, so that a new one can begin.
func unmarkBegun(mark string) error {
	if mark == "" {
		return nil
	}
	if err := step.Remove(mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("remove", mark, err)
	}
	return nil
}

func emptiedFile(path string) error {
	return fault.New(fault.StorageCorrupt, "%s is empty, and held a workspace before", path).
		WithHint("restore it from a backup, or remove it to start again; nothing was changed")
}
