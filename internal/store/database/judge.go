package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ramet/internal/base/fault"
)

// judgeTime returns how long to ask a server for the outcome of a commit whose answer was lost.
func judgeTime() time.Duration { return seconds(10) }

// Undone is the error of a transaction that surely did nothing.
type Undone struct{ Err error }

func (u *Undone) Error() string { return "nothing was done: " + u.Err.Error() }

// Unwrap gives the cause.
func (u *Undone) Unwrap() error { return u.Err }

// lifeOfServer is a value that changes when a server crashes, and with nothing else that
// happens often: its statistics are thrown away then. After a crash the server may give a
// number again that it had given to a transaction which was lost; so that a number is known
// to be committed says nothing of ours any more.
const lifeOfServer = `(select coalesce(stats_reset::text, '-') from pg_stat_bgwriter)`

// verdict is the outcome of a transaction.
type verdict int

const (
	unknown verdict = iota
	done
	undone
	pending // the server is not through with it
)

// judge finds out what came of a transaction whose commit was not answered.
func (t *transaction) judge(cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), judgeTime())
	defer cancel()
	waiting := time.AfterFunc(tellAfter(), func() { t.of.tell(ctx) })
	defer waiting.Stop()
	pid := t.Conn.Conn().PgConn().PID()
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		v, err := t.of.outcome(ctx, t.id, t.life, pid)
		switch {
		case err == nil && v == done:
			return nil
		case err == nil && v == undone:
			return &Undone{cause}
		case err == nil && v == unknown:
			return t.of.unknown(t.id, errors.New("the server crashed meanwhile"))
		}
		select {
		case <-ctx.Done():
			return t.of.unknown(t.id, cause)
		case <-time.After(pause):
		}
	}
}

func (c *connector) unknown(id string, cause error) error {
	return fault.New(fault.UnknownOutcome, "%s: whether it was done is not known: the answer to the commit of transaction %s was lost: %s", c.pg.Place, id, innermostReason(cause)).
		WithHint("when the server answers again, `select pg_xact_status('%s')` there tells it", id)
}

// outcome asks on a connection of its own. A transaction that is open still, though the
// connection that it belongs to is lost to us, is ended.
func (c *connector) outcome(ctx context.Context, id, life string, pid uint32) (verdict, error) {
	conn, err := c.aside(ctx)
	if err != nil {
		return unknown, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	got, err := execPlain(ctx, conn, fmt.Sprintf("select coalesce(pg_xact_status('%s'), ''), %s", id, lifeOfServer))
	if err != nil {
		if stateOf(err) == "22023" { // a number that was not given yet: it was, and was lost in a crash
			return undone, nil
		}
		return unknown, err
	}
	switch status, now := got.rows[0][0], got.rows[0][1]; {
	case status == "aborted":
		return undone, nil
	case now != life && status == "in progress":
		return undone, nil // it is another one's number now, so ours was lost
	case status == "in progress":
		_, err := execPlain(ctx, conn, fmt.Sprintf("select pg_terminate_backend(pid) from pg_stat_activity where pid = %d and backend_xid = '%s'::xid8::xid", pid, id))
		return pending, err
	case now != life || status == "":
		return unknown, nil
	}
	return done, nil
}

// working asks whether the server is still busy with what a session asked it.
func (c *connector) working(pid uint32) bool {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	conn, err := c.aside(ctx)
	if err != nil {
		return false
	}
	defer conn.Close(context.WithoutCancel(ctx))
	got, err := execPlain(ctx, conn, fmt.Sprintf("select state from pg_stat_activity where pid = %d", pid))
	return err == nil && len(got.rows) == 1 && strings.HasPrefix(got.rows[0][0], "active")
}

// aside returns a connection beside the others, for a question.
func (c *connector) aside(ctx context.Context) (*pgx.Conn, error) {
	config, _ := c.pg.wired()
	return pgx.ConnectConfig(ctx, config)
}
