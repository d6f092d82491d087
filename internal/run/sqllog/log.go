package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"io"
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
		c := &cursor{log: l, line: max(after, 1)}
		defer c.close()
		s := &run.VerifiedStream{Next: c.next, Given: after > 0}
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
	if e.Event, err = run.ParseChunk(e.Raw); err != nil {
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
	if bad := (*run.BadChunk)(nil); errors.As(err, &bad) {
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

// chunkSize limits the bytes of lines that go to one worker.
const chunkSize = 128 << 10

// cursor cuts the rows of one query into chunks.
type cursor struct {
	log    *rows
	rows   *sql.Rows
	line   int64 // of the next row
	offset int64
	end    error // what comes after the last row
}

func (c *cursor) close() {
	if c.rows != nil {
		c.rows.Close()
	}
}

func (c *cursor) next(ctx context.Context) (run.Chunk, error) {
	if c.rows == nil {
		where, args := c.log.where(c.line)
		var err error
		if c.rows, err = c.log.db.QueryContext(ctx, `SELECT seq, line FROM run_events WHERE `+where+` ORDER BY seq`, args...); err != nil {
			return run.Chunk{}, err
		}
	}
	out := run.Chunk{Line: c.line, Offset: c.offset}
	for size := 0; size < chunkSize && c.end == nil; {
		var line []byte
		if line, c.end = c.row(); c.end != nil {
			break
		}
		out.Lines = append(out.Lines, line)
		size += len(line)
	}
	if len(out.Lines) == 0 {
		return out, c.end
	}
	return out, nil // what is wrong comes after what is not
}

// row is the next line; io.EOF after the last.
func (c *cursor) row() ([]byte, error) {
	if !c.rows.Next() {
		if err := c.rows.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	var seq int64
	var line []byte
	if err := c.rows.Scan(&seq, &line); err != nil {
		return nil, err
	}
	if seq != c.line {
		return nil, &run.BadChunk{Line: c.line, Offset: c.offset, Reason: errors.New("the line is missing")}
	}
	c.line++
	c.offset += int64(len(line)) + 1
	return line, nil
}
