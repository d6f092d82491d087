package app

import (
	"context"
	"errors"

	"ramet/internal/runner"
	"ramet/internal/runner/memqueue"
	"ramet/internal/runner/riverqueue"
)

// sharing is the queue of a run whose items this process does as well as other hosts: each waits
// here and there, and whoever claims it first does it. So this process takes nothing of the
// database's queue, in which there are items of other runs: it could not do those, since it
// knows no orchestrator but its own.
type sharing struct {
	here  *memqueue.Queue
	there *riverqueue.Queue
}

var _ runner.Queue = sharing{}

func (s sharing) Enqueue(ctx context.Context, attempts ...runner.Enqueued) error {
	if err := s.there.Enqueue(ctx, attempts...); err != nil {
		return err
	}
	return s.here.Enqueue(ctx, attempts...)
}

func (s sharing) Cancel(ctx context.Context, id string) error {
	return errors.Join(s.here.Cancel(ctx, id), s.there.Cancel(ctx, id))
}

// Takeover is about other hosts: what waits here waits.
func (s sharing) Takeover(ctx context.Context, host string) ([]string, error) {
	return s.there.Takeover(ctx, host)
}

// done takes what was done here off the other hosts' list. One that has it already is told by the
// orchestrator, and so is whoever takes what could not be taken off.
func (s sharing) done(ctx context.Context, j runner.Enqueued) {
	if ctx.Err() == nil {
		s.there.Cancel(ctx, j.ID)
	}
}
