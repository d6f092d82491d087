package database

import (
	"context"
	"database/sql/driver"
	"hash/maphash"
	"io"
	"slices"
	"time"
)

// question is a query that only reads, and a digest of the rows that were handed out of its answer.
type question struct {
	query string
	args  []driver.NamedValue
	rows  int
	sum   maphash.Hash
}

func newQuestion(query string, args []driver.NamedValue) *question {
	q := &question{query: query, args: slices.Clone(args)}
	q.sum.SetSeed(maphash.MakeSeed()) // WriteComparable does not set one
	return q
}

// add takes a row into the digest.
func (q *question) add(row []driver.Value) {
	q.rows++
	for _, v := range row {
		switch v := v.(type) {
		case []byte:
			maphash.WriteComparable(&q.sum, len(v))
			q.sum.Write(v)
		case string:
			maphash.WriteComparable(&q.sum, len(v))
			q.sum.WriteString(v)
		case time.Time:
			maphash.WriteComparable(&q.sum, v.UnixNano())
		default:
			maphash.WriteComparable(&q.sum, v)
		}
	}
}

// ask asks it on another session, up to where the answer was read, and reports whether the rows are the same as before.
func (q *question) ask(ctx context.Context, s *session) (rows driver.Rows, same bool, err error) {
	s.asks(ctx)
	if rows, err = s.Conn.QueryContext(ctx, q.query, q.args); err != nil {
		return nil, false, err
	}
	again := question{}
	again.sum.SetSeed(q.sum.Seed())
	row := make([]driver.Value, len(rows.Columns()))
	for again.rows < q.rows {
		if err = rows.Next(row); err != nil {
			break
		}
		again.add(row)
	}
	if err == io.EOF { // it is shorter than before
		err = nil
	}
	if same = err == nil && again.rows == q.rows && again.sum.Sum64() == q.sum.Sum64(); !same {
		rows.Close()
	}
	return rows, same, err
}

// reread hands out the rows of a question. When the connection is lost, it asks again on another one: if that answers with
// the same rows so far, the rest of its answer follows, so that all of it is one answer. In a transaction
// that only reads this holds for everything that was asked in it.
type reread struct {
	driver.Rows
	ctx  context.Context
	of   *session
	now  *question
	side *session // of ours alone; nil: the rows are those of the session
}

// Next implements driver.Rows.
func (r *reread) Next(row []driver.Value) error {
	err := r.Rows.Next(row)
	for err != nil && err != io.EOF && Lost(err) && r.ctx.Err() == nil {
		if !r.again() {
			return err
		}
		err = r.Rows.Next(row)
	}
	if err == nil {
		r.now.add(row)
	}
	return err
}

// again asks once more; false: what is read now differs from what was handed out, or the server is away.
func (r *reread) again() bool {
	if r.of.reads {
		rows, ok := r.of.resume(r.ctx, r.now)
		if ok {
			r.Rows = rows
		}
		return ok
	}
	// A session of its own: the caller that owns the other one must learn that it is lost.
	for until := time.Now().Add(patience()); time.Now().Before(until); {
		if r.side != nil {
			r.side.Close()
		}
		var err error
		if r.side, err = r.of.of.session(r.ctx); err != nil {
			return false
		}
		rows, same, err := r.now.ask(r.ctx, r.side)
		if same {
			r.Rows = rows
		}
		if same || err == nil || !Lost(err) {
			return same
		}
	}
	return false
}

// Close implements driver.Rows.
func (r *reread) Close() error {
	err := r.Rows.Close()
	if r.side != nil {
		err = r.side.Close()
	}
	return err
}

// resume continues with a transaction that only reads on another connection, if everything that was read in it is still
// the same there. It returns the rows of the last question, which is the one that is open.
func (s *session) resume(ctx context.Context, open *question) (last driver.Rows, ok bool) {
	for until := time.Now().Add(patience()); time.Now().Before(until); {
		fresh, err := s.of.session(ctx)
		if err != nil {
			return nil, false
		}
		s.Conn.Close() // it is lost
		s.Conn, s.wire, s.life = fresh.Conn, fresh.wire, ""
		err = s.beginReading(ctx)
		same := err == nil
		for _, q := range s.asked {
			if !same {
				break
			}
			var rows driver.Rows
			if rows, same, err = q.ask(ctx, s); !same {
				break
			}
			if q == open {
				return rows, true
			}
			rows.Close()
		}
		if same || !Lost(err) {
			return nil, same
		}
	}
	return nil, false
}
