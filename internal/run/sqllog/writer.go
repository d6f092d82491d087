package sqllog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"
	"sync"

	"ramet/internal/base/fault"
	"ramet/internal/run"
)

// Writer is a log open for appending. It implements run.Writer.
type Writer struct {
	*rows
	commits  *run.Committer
	conn     *sql.Conn // the only one that writes
	schema   string    // of a table; empty: it is a file
	sessions []int     // processes of the server for conn, the last, and for those that were lost
	// unsure reports whether an error leaves open what is in the log.
	unsure  func(error) bool
	before  func()       // ends a session's lock, before the session
	after   func() error // ends a file's lock, after all else
	closing sync.Once
}

// start verifies the log and readies the writer.
func (w *Writer) start(ctx context.Context, o run.Position) error {
	s := &run.VerifiedStream{Given: o.Count > 0}
	c := &cursor{log: w.rows, line: max(o.Count, 1)}
	defer c.close()
	s.Next = c.next
	known := o.Count == 0
	for e, err := range s.Events(ctx) {
		if err != nil {
			return w.fail("read events", err)
		}
		if !known {
			if e.PrevHash != o.Hash {
				return w.unknown(o)
			}
			known = true
		}
		if w.run != "" && e.RunID != w.run {
			return run.ChainBroken(w.place, e.Line, e.Offset, "it is an event of run %s", e.RunID)
		}
	}
	if !known && s.Last.Hash != o.Hash {
		return w.unknown(o)
	}
	w.commits = run.NewCommitter(w.place, run.CommitState{Chain: s.Chain, Count: s.Last.Line, Last: s.Last}, w.commit)
	return nil
}

func (w *Writer) unknown(o run.Position) error {
	return run.ChainBroken(w.place, o.Count, 0, "it does not have the hash %.16s… that event %d had", o.Hash, o.Count)
}

// Append implements run.Writer.
func (w *Writer) Append(ctx context.Context, drafts ...run.Draft) ([]run.Event, error) {
	for _, d := range drafts {
		if w.run != "" && d.RunID != w.run {
			return nil, fault.New(fault.InvalidEvent, "%s: event %.60s is one of run %.80s, the log is that of run %s", w.place, d.ID, d.RunID, w.run)
		}
	}
	return w.commits.Append(ctx, drafts...)
}

// Last implements run.Log, from memory.
func (w *Writer) Last(context.Context) (run.Entry, bool, error) {
	s := w.commits.State()
	return s.Last, s.Count > 0, nil
}

// Count returns the number of events in the log.
func (w *Writer) Count() int64 { return w.commits.State().Count }

// Close waits for what is being written and gives back the lock.
func (w *Writer) Close() (err error) {
	w.closing.Do(func() {
		w.commits.Close()
		err = w.stop()
	})
	return err
}

func (w *Writer) stop() error {
	if w.before != nil {
		w.before()
	}
	err := w.conn.Close()
	if errors.Is(err, sql.ErrConnDone) || errors.Is(err, driver.ErrBadConn) {
		err = nil // lost before
	}
	err = errors.Join(err, w.rows.Close())
	if w.after != nil {
		err = errors.Join(err, w.after())
	}
	return err
}

// commit writes lines, also when that takes another connection. It is a run.CommitSink. The
// context of one caller does not end what many wait for.
func (w *Writer) commit(entries []run.Entry) error {
	err := w.write(entries)
	for try := 0; try < mostRegained && w.schema != "" && err != nil && connectionLost(err); try++ {
		written, lost := w.regain(entries)
		if lost != nil {
			return &run.FatalError{Err: w.fail("append", lost)}
		}
		if written {
			return nil
		}
		err = w.write(entries)
	}
	return err
}

// write writes lines in one transaction.
func (w *Writer) write(entries []run.Entry) error {
	ctx := context.Background()
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return w.judge(err, w.unsure(err))
	}
	for len(entries) > 0 {
		n := 1
		for n*step <= min(len(entries), maxRows) {
			n *= step
		}
		if err := insertLines(ctx, tx, entries[:n]); err != nil {
			undone := tx.Rollback()
			return w.judge(err, undone != nil || w.unsure(err))
		}
		entries = entries[n:]
	}
	if err := tx.Commit(); err != nil {
		// SQLite may leave the transaction open, if it can still be ended.
		w.conn.ExecContext(ctx, `ROLLBACK`)
		return w.judge(err, w.unsure(err))
	}
	return nil
}

func (w *Writer) judge(err error, fatal bool) error {
	err = w.fail("append", err)
	if fatal {
		return &run.FatalError{Err: err}
	}
	return err
}

// Rows go in steps of a few sizes, so that there are few statements to prepare.
const (
	step    = 8
	maxRows = 64
)

func insertLines(ctx context.Context, tx *sql.Tx, entries []run.Entry) error {
	var text strings.Builder
	text.WriteString(`INSERT INTO run_events (run_id, seq, event_id, line) VALUES `)
	args := make([]any, 0, 4*len(entries))
	for i, e := range entries {
		if i > 0 {
			text.WriteByte(',')
		}
		for j, mark := range []string{"($", ",$", ",$", ",$"} {
			text.WriteString(mark)
			text.WriteString(strconv.Itoa(4*i + j + 1))
		}
		text.WriteByte(')')
		args = append(args, e.RunID, e.Line, e.ID, e.Raw)
	}
	_, err := tx.ExecContext(ctx, text.String(), args...)
	return err
}
