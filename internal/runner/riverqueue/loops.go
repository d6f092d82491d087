package riverqueue

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// loops counts in River's log how many of a client's loops, one for each queue, have begun. Start does not report one
// that did not: River takes a connection that is lost meanwhile for a shutdown, and the host would wait for jobs for
// ever.
type loops struct{ begun chan struct{} }

func newLoops(queues int) *loops { return &loops{make(chan struct{}, queues)} }

// began matches that line; other parts of River have loops too. If a newer River logs something else, no host
// begins to serve and the tests fail.
const began = "producer: Run loop started"

func (l *loops) Enabled(context.Context, slog.Level) bool { return true }

func (l *loops) Handle(_ context.Context, r slog.Record) error {
	if r.Message == began {
		select {
		case l.begun <- struct{}{}:
		default:
		}
	}
	return nil
}

func (l *loops) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *loops) WithGroup(string) slog.Handler { return l }

// all waits until the loop of each queue has begun.
func (l *loops) all(ctx context.Context) error {
	late := time.NewTimer(settle)
	defer late.Stop()
	for range cap(l.begun) {
		select {
		case <-l.begun:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return fmt.Errorf("a queue does not begin: %w", io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// starts makes a client whose loops all run. One that failed to start is not tried again: parts of it
// may be running.
func (q *Queue) starts(ctx context.Context, config river.Config) (client *river.Client[pgx.Tx], err error) {
	l := newLoops(len(config.Queues))
	client, err = q.newClient(&config, l)
	if err != nil {
		return nil, err
	}
	// River's own context does not end with ours: what is done then is noted.
	own := context.WithoutCancel(ctx)
	if err := client.Start(own); err != nil {
		return nil, err
	}
	if err := l.all(ctx); err != nil {
		late, cancel := context.WithTimeout(own, settle)
		defer cancel()
		client.StopAndCancel(late) // what is left of it takes no jobs
		return nil, err
	}
	return client, nil
}
