package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// Tx is a transaction on PostgreSQL that writes. It is a session of its own for as long as it
// lasts: database/sql has a goroutine wait beside each of its own transactions for the end of
// their context, which whoever asks something with that context learns anyway.
type Tx struct {
	*sql.Conn
	tx   driver.Tx
	over bool
}

// Begin begins a transaction.
func Begin(ctx context.Context, db *sql.DB) (*Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tx{Conn: conn}
	err = conn.Raw(func(session any) (err error) {
		t.tx, err = session.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
		return err
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	return t, nil
}

// Commit ends it.
func (t *Tx) Commit() error { return t.end(driver.Tx.Commit) }

// Rollback undoes it. After its end it does nothing.
func (t *Tx) Rollback() error { return t.end(driver.Tx.Rollback) }

func (t *Tx) end(as func(driver.Tx) error) error {
	if t.over {
		return sql.ErrTxDone
	}
	t.over = true
	defer t.Conn.Close()
	return t.Conn.Raw(func(any) error { return as(t.tx) })
}
