package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// rows is a log open for reading. It implements run.Log.
type rows struct {
	place string
	db    *sql.DB
	run   string // empty: a file, which holds one run
	fault func(error) error
	close func() error
}

// where picks the rows from a number on.
func (l *rows) where(from int64) (string, []any) {
	if l.run == "" {
		return `seq >= $1`, []any{from}
	}
	return `seq >= $1 AND run_id = $2`, []any{from, l.run}
}

// Close implements run.Log.
func (l *rows) Close() error { return l.fail("close", l.close()) }

// Events implements run.Log. Offsets are those of the export, where it is read
// from its beginning.
func (l *rows) Events(ctx context.Context, after int64) iter.Seq2[run.Entry, error] {
	return func(yield func(run.Entry, error) bool) {
		s := l.stream(ctx, after)
		for e, err := range s.Events(ctx) {
			if err != nil {
				yield(run.Entry{}, l.fail("read events", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if after > 0 && s.Chain == nil {
			yield(run.Entry{}, run.ChainBroken(l.place, after, 0, "the log ends before event %d", after))
		}
	}
}

func (l *rows) stream(ctx context.Context, after int64) *run.VerifiedStream {
	return &run.VerifiedStream{Lines: l.lines(ctx, max(after, 1)), Given: after > 0}
}

// lines yields the lines of the rows from a number on.
func (l *rows) lines(ctx context.Context, from int64) iter.Seq2[run.Entry, error] {
	return func(yield func(run.Entry, error) bool) {
		where, args := l.where(from)
		rows, err := l.db.QueryContext(ctx, `SELECT seq, line FROM run_events WHERE `+where+` ORDER BY seq`, args...)
		if err != nil {
			yield(run.Entry{}, err)
			return
		}
		defer rows.Close()
		offset := int64(0)
		for line := from; rows.Next(); line++ {
			e := run.Entry{Offset: offset}
			if err = rows.Scan(&e.Line, &e.Raw); err == nil && e.Line != line {
				err = &run.BadLine{Line: line, Offset: offset, Reason: errors.New("the line is missing")}
			}
			if !yield(e, err) || err != nil {
				return
			}
			offset += int64(len(e.Raw)) + 1
		}
		if err := rows.Err(); err != nil {
			yield(run.Entry{}, err)
		}
	}
}

// Last implements run.Log.
func (l *rows) Last(ctx context.Context) (run.Entry, bool, error) {
	where, args := l.where(1)
	var e run.Entry
	err := l.db.QueryRowContext(ctx, `SELECT seq, line FROM run_events WHERE `+where+` ORDER BY seq DESC LIMIT 1`, args...).
		Scan(&e.Line, &e.Raw)
	if errors.Is(err, sql.ErrNoRows) {
		return run.Entry{}, false, nil
	}
	if err != nil {
		return run.Entry{}, false, l.fail("read the last event", err)
	}
	if e.Event, err = run.VerifyLine(e.Raw); err != nil {
		return run.Entry{}, false, run.ChainBroken(l.place, e.Line, 0, "%v", err)
	}
	return e, true, nil
}

// fail gives an error its fault.
func (l *rows) fail(verb string, err error) error {
	if err == nil {
		return nil
	}
	if _, ours := fault.Of(err); ours {
		return err
	}
	if bad := (*run.BadLine)(nil); errors.As(err, &bad) {
		return run.ChainBroken(l.place, bad.Line, bad.Offset, "%v", bad.Reason)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return run.CancelledRead(verb, err)
	}
	if err = l.fault(err); fault.CodeOf(err) != fault.Failed {
		return err
	}
	return fault.New(fault.StorageIO, "%s: %s: %w", l.place, verb, err)
}
