package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"ramet/internal/store"
)

// What the connection does at a commit: 2 waits for the disk, 1 does not.
func TestOnlyWhatMayBeLostDoesNotWaitForTheDisk(t *testing.T) {
	d := &dialect{path: filepath.Join(t.TempDir(), "waits.db")}
	if err := d.open(t.Context(), file{}); err != nil {
		t.Fatal(err)
	}
	defer d.close()
	run(t, d.writer, `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`)
	levelIn := func(ctx context.Context, end func(store.Transaction) error) int {
		t.Helper()
		tx, err := d.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var level int
		err = tx.QueryRowContext(ctx, `PRAGMA synchronous`).Scan(&level)
		if err := errors.Join(err, end(tx)); err != nil {
			t.Fatal(err)
		}
		return level
	}
	for _, end := range []func(store.Transaction) error{store.Transaction.Commit, store.Transaction.Rollback} {
		if got := levelIn(store.Unsynced(t.Context()), end); got != 1 {
			t.Errorf("what may be lost: %d", got)
		}
		var level int
		if err := d.writer.QueryRow(`PRAGMA synchronous`).Scan(&level); err != nil || level != 2 {
			t.Errorf("on its own, after it: %d, %v", level, err)
		}
		if got := levelIn(t.Context(), end); got != 2 {
			t.Errorf("after it: %d", got)
		}
	}
}
