package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/registry"
)

// each calls take for each row of a query, until it returns an error.
func each(ctx context.Context, q querier, take func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect returns what scan reads of each row of a query.
func collect[T any](ctx context.Context, q querier, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	var out []T
	err := each(ctx, q, func(rows *sql.Rows) error {
		v, err := scan(rows)
		if err == nil {
			out = append(out, v)
		}
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// scanColumn reads a row of one column.
func scanColumn[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}

// errStopped ends a query of which no more is wanted.
var errStopped = errors.New("no more is wanted")

// stream hands out what scan reads of each row of a query; verb is for the error. false from scan leaves a row out.
func stream[T any](ctx context.Context, r reader, verb string, scan func(*sql.Rows) (T, bool, error), query string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := each(ctx, r.q, func(rows *sql.Rows) error {
			v, wanted, err := scan(rows)
			if err == nil && wanted && !yield(v, nil) {
				err = errStopped
			}
			return err
		}, query, args...)
		if err != nil && !errors.Is(err, errStopped) {
			var none T
			yield(none, r.fail(verb, err))
		}
	}
}

// listOf returns the placeholders of a list of values, in parentheses, and the values.
func listOf[T, V any](values []T, value func(T) V) (placeholders string, args []any) {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = fmt.Sprintf("$%d", i+1)
		args = append(args, value(v))
	}
	return "(" + strings.Join(marks, ", ") + ")", args
}

// BadCursor refuses a cursor that this store did not make.
func BadCursor(c registry.Cursor) error {
	return fault.New(fault.InvalidID, "%.80q is not a cursor of this store", string(c)).
		WithHint("begin again with an empty cursor")
}

// Position is a place in the two tables that the feed reads.
type Position struct{ Entry, Letter int64 }

// Page reads up to limit changes behind a position, entries first, and moves
// it. within, if not empty, is a further condition on the rows of both tables,
// with args for its parameters from $3 on.
func Page(ctx context.Context, tx Tx, at *Position, limit int, within string, args ...any) ([]registry.Change, error) {
	where := ` WHERE id > $1 ` + within + ` ORDER BY id ` + atMost + `$2`
	var out []registry.Change
	var es entryScan
	err := each(ctx, tx, func(rows *sql.Rows) error {
		e, err := es.scan(rows)
		if err == nil {
			at.Entry = int64(e.ID)
			out = append(out, registry.Change{Entry: &e})
		}
		return err
	}, `SELECT `+entryColumns+` FROM messages`+where, append([]any{at.Entry, limit}, args...)...)
	if err != nil || len(out) >= limit {
		return out, err
	}
	err = each(ctx, tx, func(rows *sql.Rows) error {
		l, err := scanLetter(rows.Scan)
		if err == nil {
			at.Letter = l.ID
			out = append(out, registry.Change{Letter: &l})
		}
		return err
	}, `SELECT `+letterColumns+` FROM mail`+where, append([]any{at.Letter, limit - len(out)}, args...)...)
	return out, err
}
