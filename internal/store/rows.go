package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
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
