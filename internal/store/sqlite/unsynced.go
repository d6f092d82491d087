package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"ramet/internal/store"
)

// BeginTx begins a transaction that is on the disk when it is committed, or, if it may be, in the log
// only, which the next one syncs.
func (k *keeper) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	ctx = withoutWatch(ctx)
	if !store.IsUnsynced(ctx) {
		return k.conn.BeginTx(ctx, o)
	}
	if err := k.synchronous("NORMAL"); err != nil {
		return nil, err
	}
	tx, err := k.conn.BeginTx(ctx, o)
	if err != nil {
		return nil, errors.Join(err, k.synchronous("FULL"))
	}
	return hasty{tx, k}, nil
}

// synchronous is set when the statement is compiled, so that it cannot be kept. Whoever could not set it
// is not used again.
func (k *keeper) synchronous(how string) error {
	_, err := k.conn.ExecContext(context.Background(), "PRAGMA synchronous="+how, nil)
	k.unsure = k.unsure || err != nil
	return err
}

// IsValid reports whether the connection may be used again.
func (k *keeper) IsValid() bool { return !k.unsure && k.conn.IsValid() }

// hasty is a transaction that does not wait for the disk.
type hasty struct {
	driver.Tx
	of *keeper
}

func (t hasty) Commit() error { return errors.Join(t.Tx.Commit(), t.of.synchronous("FULL")) }

func (t hasty) Rollback() error { return errors.Join(t.Tx.Rollback(), t.of.synchronous("FULL")) }
