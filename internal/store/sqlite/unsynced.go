package sqlite

import (
	"context"
	"database/sql/driver"

	"ramet/internal/store"
)

// BeginTx begins a transaction that is on the disk when it is committed, or, if it may be, in the log
// only, which the next one syncs.
func (k *keeper) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	ctx = watched(ctx)
	unsynced := store.IsUnsynced(ctx)
	if err := k.waits(unsynced); err != nil {
		return nil, err
	}
	tx, err := k.conn.BeginTx(ctx, o)
	if err != nil || !unsynced {
		return tx, err
	}
	k.hasty = true
	return hasty{tx, k}, nil
}

// waits has the connection wait for the disk at commits, or not, from now on. It stays so until somebody needs it
// otherwise: a turn takes its lease soon after the one before gave its back. The level is set when
// the statement is compiled, so that it cannot be kept. Whoever could not set it is not used again.
func (k *keeper) waits(not bool) error {
	if k.loose == not {
		return nil
	}
	how := "FULL"
	if not {
		how = "NORMAL"
	}
	_, err := k.conn.ExecContext(context.Background(), "PRAGMA synchronous="+how, nil)
	if err != nil {
		k.unsure = true
		return err
	}
	k.loose = not
	return nil
}

// IsValid says whether the connection may be used again.
func (k *keeper) IsValid() bool { return !k.unsure && k.conn.IsValid() }

// hasty is a transaction that does not wait for the disk.
type hasty struct {
	driver.Tx
	of *keeper
}

func (t hasty) Commit() error { return t.ended(t.Tx.Commit()) }

func (t hasty) Rollback() error { return t.ended(t.Tx.Rollback()) }

// ended takes note of it. Where it may still be open, the level cannot be changed.
func (t hasty) ended(err error) error {
	t.of.hasty = false
	t.of.unsure = t.of.unsure || err != nil
	return err
}
