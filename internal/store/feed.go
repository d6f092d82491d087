package store

import (
	"context"
	"database/sql"

	"ramet/internal/base/fault"
	"ramet/internal/core/registry"
)

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
