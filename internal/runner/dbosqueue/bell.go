package dbosqueue

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What hosts tell each other. Anybody who may connect can notify: a word is only a call
// to look, or to end what a row says is cancelled.
const (
	rungJobs = "jobs" // some wait
	rungEnd  = "end"  // and the id of a job
)

// lastPause is the longest wait before connecting again.
const lastPause = 5 * time.Second

type execer interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
}

func (s *Server) channel() string {
	sum := sha256.Sum256([]byte(s.schema))
	return fmt.Sprintf("ramet_%x", sum[:16])
}

func (s *Server) ring(ctx context.Context, on execer, what string) error {
	if len(what) > 7000 {
		what = rungJobs
	}
	_, err := on.Exec(ctx, `SELECT pg_notify($1, $2)`, s.channel(), what)
	return err
}

// listen hears of jobs and of ends until ctx ends, and connects again by itself.
func (s *Server) listen(ctx context.Context, jobs func(), look func()) {
	pause := firstPause
	for ctx.Err() == nil {
		err := s.hear(ctx, func(what string) {
			pause = firstPause
			if strings.HasPrefix(what, rungEnd) {
				look()
			} else {
				jobs()
			}
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

func (s *Server) hear(ctx context.Context, heard func(string)) error {
	config := s.pg.Config.Copy()
	config.DialFunc = dialer.DialContext
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return err
	}
	for heard(rungJobs); ; { // something may have been said before
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		heard(n.Payload)
	}
}
