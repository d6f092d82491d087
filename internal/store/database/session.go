package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// session is one connection.
type session struct {
	*stdlib.Conn
	of   *connector
	wire *wire
	// life of the server that this is a session of; see judge. Empty: not asked yet.
	life   string
	writes bool         // a transaction that writes is open
	reads  bool         // one that does not is
	first  *transaction // goes to the server with its first statement; nil: none does
	level  string       // of isolation
	asked  []*question  // in the transaction that reads
	used   time.Time
}

var (
	_ driver.ConnBeginTx     = (*session)(nil)
	_ driver.ExecerContext   = (*session)(nil)
	_ driver.QueryerContext  = (*session)(nil)
	_ driver.SessionResetter = (*session)(nil)
	_ driver.Validator       = (*session)(nil)
)

// asks sets how long the server may be silent while a statement is carried out.
func (s *session) asks(ctx context.Context) {
	m := &manner{silence: s.of.pg.lockTimeout() + seconds(10), tell: func() { s.of.tell(ctx) }}
	if patient, _ := ctx.Value(unhurried{}).(bool); patient || !s.writes {
		pid := s.Conn.Conn().PgConn().PID()
		m.working = func() bool { return s.of.working(pid) }
	}
	s.wire.ask(m)
}

// IsValid is asked when the session is not needed any more.
func (s *session) IsValid() bool {
	s.wire.ask(nil)
	s.used = time.Now()
	return !s.Conn.Conn().IsClosed()
}

// ResetSession is asked when it is needed again. One that lay idle while another one was
// found dead is not tried: who has eight of them would wait for each.
func (s *session) ResetSession(ctx context.Context) error {
	if s.used.UnixNano() < s.of.dead.Load() {
		return driver.ErrBadConn
	}
	s.writes, s.reads, s.first = false, false, nil
	s.wire.ask(&manner{silence: seconds(5), tell: func() { s.of.tell(ctx) }})
	err := s.Conn.ResetSession(ctx)
	if err != nil && ctx.Err() == nil {
		s.of.dead.Store(time.Now().UnixNano())
	}
	return err
}

// ExecContext implements driver.ExecerContext.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s.asks(ctx)
	if t := s.first; t != nil {
		n, err := t.run(ctx, []Statement{{query, valuesOf(args)}}, false)
		return driver.RowsAffected(n), err
	}
	return s.Conn.ExecContext(ctx, query, args)
}

func valuesOf(args []driver.NamedValue) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a.Value
	}
	return out
}

// QueryContext implements driver.QueryerContext. What is asked outside of a transaction only
// reads, in ramet: if the connection is lost, it is asked again on another one, by database/sql
// before there is anything of an answer, and by reread after that and in transactions that only read.
func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s.asks(ctx)
	if t := s.first; t != nil {
		return t.query(ctx, query, valuesOf(args))
	}
	rows, err := s.Conn.QueryContext(ctx, query, args)
	if s.writes {
		return rows, err
	}
	lost := err != nil && Lost(err) && ctx.Err() == nil
	if lost && !s.reads {
		return nil, driver.ErrBadConn
	}
	q := newQuestion(query, args)
	if lost {
		if _, ok := s.resume(ctx, nil); ok {
			rows, err = s.Conn.QueryContext(ctx, query, args)
		}
	}
	if err != nil {
		return nil, err
	}
	if s.reads {
		s.asked = append(s.asked, q)
	}
	return &reread{Rows: rows, ctx: ctx, of: s, now: q}, nil
}

// idleReader sets how long a transaction that only reads may be silent: who writes an export
// may be busy with that.
const idleReader = "10min"

// BeginTx implements driver.ConnBeginTx.
func (s *session) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if s.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	level, err := isolationClause(sql.IsolationLevel(o.Isolation))
	if err != nil {
		return nil, err
	}
	s.writes, s.level, s.asked = !o.ReadOnly, level, nil // what the server may be silent for depends on writes
	t := &transaction{session: s, ctx: ctx}
	if o.ReadOnly {
		err = s.beginReading(ctx)
	} else {
		err = t.begin(ctx)
	}
	if err != nil {
		if Lost(err) && ctx.Err() == nil {
			err = driver.ErrBadConn // nothing was done yet
		}
		return nil, err
	}
	s.reads = o.ReadOnly
	return t, nil
}

// later begins a transaction that writes, with its first statement.
func (s *session) later(ctx context.Context) (*transaction, error) {
	if s.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	s.writes, s.level = true, ""
	s.first = &transaction{session: s, ctx: ctx}
	return s.first, nil
}

// begin begins a transaction that writes, and learns its number.
func (t *transaction) begin(ctx context.Context) error {
	t.asks(ctx)
	got, err := t.plain(ctx, "begin"+t.level+"; "+t.askNumber())
	if err != nil {
		return err
	}
	if t.id = got.rows[0][0]; t.life == "" {
		t.life = got.rows[0][1]
	}
	return nil
}

// beginReading begins a transaction that only reads.
func (s *session) beginReading(ctx context.Context) error {
	s.asks(ctx)
	_, err := s.plain(ctx, "begin"+s.level+" read only; set local idle_in_transaction_session_timeout = '"+idleReader+"'")
	return err
}

func isolationClause(level sql.IsolationLevel) (string, error) {
	switch level {
	case sql.LevelDefault:
		return "", nil
	case sql.LevelReadCommitted:
		return " isolation level read committed", nil
	case sql.LevelRepeatableRead, sql.LevelSnapshot:
		return " isolation level repeatable read", nil
	case sql.LevelSerializable:
		return " isolation level serializable", nil
	}
	return "", fmt.Errorf("unsupported isolation: %v", level)
}

// answer describes what came back of the last of some statements.
type answer struct {
	tag  string
	rows [][]string
}

// plain carries out statements without arguments, in one round trip.
func (s *session) plain(ctx context.Context, text string) (answer, error) {
	return execPlain(ctx, s.Conn.Conn(), text)
}

func execPlain(ctx context.Context, conn *pgx.Conn, text string) (out answer, err error) {
	results, err := conn.PgConn().Exec(ctx, text).ReadAll()
	if err != nil {
		return out, err
	}
	for _, r := range results {
		if r.Err != nil {
			return out, r.Err
		}
		out.tag, out.rows = r.CommandTag.String(), nil
		for _, row := range r.Rows {
			var words []string
			for _, cell := range row {
				words = append(words, string(cell))
			}
			out.rows = append(out.rows, words)
		}
	}
	return out, nil
}

// transaction is one that is open on a session.
type transaction struct {
	*session
	ctx   context.Context
	ended bool   // it was committed with its last statements
	id    string // by which the server knows it; empty: it only reads
}

// run carries out statements in one round trip, and commits the transaction with them if last is set. It returns how many rows
// the last of them changed.
func (t *transaction) run(ctx context.Context, statements []Statement, last bool) (int64, error) {
	t.asks(ctx)
	b := &pgx.Batch{}
	opens := t.opens(b)
	for _, s := range statements {
		b.Queue(s.Query, s.Args...)
	}
	if last {
		b.Queue("commit")
		ctx = context.WithoutCancel(ctx) // or its outcome would be unknown
	}
	results := t.Conn.Conn().SendBatch(ctx, b)
	var tag pgconn.CommandTag
	var err error
	if opens {
		err = t.opened(results)
	}
	for range statements {
		if err == nil {
			tag, err = results.Exec()
		}
	}
	changed := tag.RowsAffected()
	if last && err == nil {
		tag, err = results.Exec()
	}
	if cerr := results.Close(); err == nil {
		err = cerr
	}
	if last {
		err = t.committed(tag.String(), err)
		t.ended = err == nil
	}
	return changed, err
}

// committed returns what came of a commit, by the answer to it.
func (t *transaction) committed(tag string, err error) error {
	switch {
	case err == nil && tag == "ROLLBACK":
		return &Undone{pgx.ErrTxCommitRollback}
	case t.reads && Lost(err):
		return nil // there was nothing to commit
	case err == nil || t.id == "" || !Lost(err):
		return err // done, or refused by the server
	}
	return t.judge(err)
}

// Commit implements driver.Tx. Once it is asked for, it is not cancelled any more: no process
// would know what came of it.
func (t *transaction) Commit() error {
	defer t.over()
	if t.ended || t.first == t {
		return nil // all is done, or nothing was asked
	}
	ctx := context.WithoutCancel(t.ctx)
	t.asks(ctx)
	got, err := t.plain(ctx, "commit")
	return t.committed(got.tag, err)
}

// Rollback implements driver.Tx. Where it cannot be said, the end of the connection says it.
func (t *transaction) Rollback() error {
	defer t.over()
	if t.Conn.Conn().IsClosed() || t.ended || t.first == t {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), time.Second)
	defer cancel()
	_, err := t.plain(ctx, "rollback")
	if err != nil {
		t.Conn.Conn().Close(ctx)
	}
	return nil
}

func (t *transaction) over() { t.writes, t.reads, t.first, t.asked = false, false, nil, nil }

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
