package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"
)

// Statements go to the server together where no answer is needed in between: the
// beginning of a transaction with its first statement, and its commit with its last one.

type last struct{}

// Last says of a statement that its transaction is committed with it, in one round trip:
// nothing but Commit follows.
func Last(ctx context.Context) context.Context { return context.WithValue(ctx, last{}, true) }

// More says of a statement that others follow, whatever its context says.
func More(ctx context.Context) context.Context { return context.WithValue(ctx, last{}, false) }

func isLast(ctx context.Context) bool {
	is, _ := ctx.Value(last{}).(bool)
	return is
}

// opens queues what begins a transaction, if it has not begun.
func (t *transaction) opens(b *pgx.Batch) bool {
	if t.begun {
		return false
	}
	b.Queue("begin" + t.level)
	if t.life == "" {
		b.Queue("select pg_current_xact_id()::text, " + lifeOfServer)
	} else {
		b.Queue("select pg_current_xact_id()::text, ''")
	}
	return true
}

// opened reads the answers to what opens queued.
func (t *transaction) opened(r pgx.BatchResults) error {
	if _, err := r.Exec(); err != nil {
		return err
	}
	t.begun = true
	var life string
	if err := r.QueryRow().Scan(&t.id, &life); err != nil {
		return err
	}
	if t.life == "" {
		t.life = life
	}
	return nil
}

// begin begins without a statement: several in one text cannot be sent with it.
func (t *transaction) begin(ctx context.Context) error {
	b := &pgx.Batch{}
	t.opens(b)
	results := t.Conn.Conn().SendBatch(ctx, b)
	err := t.opened(results)
	if cerr := results.Close(); err == nil {
		err = cerr
	}
	return err
}

// exec carries out a statement, with the beginning of the transaction if it is the first, and
// with its commit if it is the last.
func (t *transaction) exec(ctx context.Context, query string, args []any) (driver.Result, error) {
	b, ends := &pgx.Batch{}, isLast(ctx)
	opens := t.opens(b)
	b.Queue(query, args...)
	if ends {
		ctx = context.WithoutCancel(ctx) // or its outcome would be unknown
		b.Queue("commit")
	}
	results := t.Conn.Conn().SendBatch(ctx, b)
	n, err := t.results(results, opens, ends)
	if cerr := results.Close(); err == nil {
		err = cerr
	}
	if !ends {
		return driver.RowsAffected(n), err
	}
	t.ended = err == nil
	if err != nil && Lost(err) && t.id != "" {
		if err = t.judge(err); err == nil {
			t.ended = true
		}
	}
	return driver.RowsAffected(n), err
}

func (t *transaction) results(r pgx.BatchResults, opens, ends bool) (n int64, err error) {
	if opens {
		if err := t.opened(r); err != nil {
			return 0, err
		}
	}
	tag, err := r.Exec()
	if err != nil || !ends {
		return tag.RowsAffected(), err
	}
	done, err := r.Exec()
	if err == nil && done.String() == "ROLLBACK" {
		err = &Undone{pgx.ErrTxCommitRollback}
	}
	return tag.RowsAffected(), err
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

// statement is one that was prepared. The first of a transaction begins it.
type statement struct {
	driver.Stmt
	of *session
}

// PrepareContext implements driver.ConnPrepareContext.
func (s *session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s.asks(ctx)
	prepared, err := s.Conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &statement{prepared, s}, nil
}

// enters begins the transaction that is open on the session, if it has not begun.
func (p *statement) enters(ctx context.Context) error {
	p.of.asks(ctx)
	switch t := p.of.open; {
	case t == nil || t.begun && !t.ended:
		return nil
	case t.ended:
		return errOver
	default:
		return t.begin(ctx)
	}
}

// ExecContext implements driver.StmtExecContext.
func (p *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := p.enters(ctx); err != nil {
		return nil, err
	}
	return p.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext implements driver.StmtQueryContext.
func (p *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := p.enters(ctx); err != nil {
		return nil, err
	}
	return p.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}
