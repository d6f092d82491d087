package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
)

// A transaction of Begin goes to the server with its first statement.

// opens queues what begins a transaction, if it has not begun.
func (t *transaction) opens(b *pgx.Batch) bool {
	if t.first != t {
		return false
	}
	b.Queue("begin" + t.level)
	b.Queue(t.askNumber())
	return true
}

// askNumber returns the question for the number of a transaction and the life of the server, where that is not known.
func (t *transaction) askNumber() string {
	life := "''"
	if t.life == "" {
		life = lifeOfServer
	}
	return "select pg_current_xact_id()::text, " + life
}

// opened reads the answers to what opens queued.
func (t *transaction) opened(r pgx.BatchResults) error {
	if _, err := r.Exec(); err != nil {
		return err
	}
	t.first = nil
	var life string
	if err := r.QueryRow().Scan(&t.id, &life); err != nil {
		return err
	}
	if t.life == "" {
		t.life = life
	}
	return nil
}

// query asks something with the beginning of the transaction.
func (t *transaction) query(ctx context.Context, query string, args []any) (driver.Rows, error) {
	b := &pgx.Batch{}
	t.opens(b)
	b.Queue(query, args...)
	results := t.Conn.Conn().SendBatch(ctx, b)
	if err := t.opened(results); err != nil {
		results.Close()
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		rows.Close()
		results.Close()
		return nil, err
	}
	more := rows.Next()
	if err := rows.Err(); err != nil {
		rows.Close()
		results.Close()
		return nil, err
	}
	return &answers{rows: rows, results: results, first: true, more: more}, nil
}

// answers are the rows of the first question of a transaction.
type answers struct {
	rows        pgx.Rows
	results     pgx.BatchResults
	first, more bool // the first row was asked for already, and is there
}

// Columns implements driver.Rows.
func (a *answers) Columns() []string {
	var out []string
	for _, f := range a.rows.FieldDescriptions() {
		out = append(out, f.Name)
	}
	return out
}

// Close implements driver.Rows.
func (a *answers) Close() error {
	a.rows.Close()
	return errors.Join(a.rows.Err(), a.results.Close())
}

// Next implements driver.Rows.
func (a *answers) Next(dest []driver.Value) error {
	if a.first {
		a.first = false
	} else {
		a.more = a.rows.Next()
	}
	if !a.more {
		if err := a.rows.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	values, err := a.rows.Values()
	if err != nil {
		return err
	}
	for i, v := range values {
		if dest[i], err = plainValue(v); err != nil {
			return err
		}
	}
	return nil
}

// plainValue converts a value to the types of database/sql.
func plainValue(v any) (driver.Value, error) {
	switch v := v.(type) {
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case driver.Valuer:
		return v.Value()
	}
	return v, nil
}
