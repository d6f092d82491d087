package app

import (
	"context"
	"errors"

	"ramet/internal/runner"
)

// sharing is the queue of a run whose items this process does as well as other hosts: each waits
// here and there, and whoever claims it first does it. So this process takes nothing of the
// database's queue, in which there are items of other runs: it could not do those, since it
// knows no orchestrator but its own.
type sharing struct {
	here  *runner.MemoryQueue
	there runner.Queue
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

// serve does items of the run here, until ctx ends.
func (s sharing) serve(ctx context.Context, queues []string, parallel int, o runner.Orchestrator, e runner.Executor) error {
	return s.here.Serve(ctx, queues, parallel, func(its context.Context, j runner.Enqueued) error {
		mine := claims{Orchestrator: o}
		err := runner.ServeAttempt(its, j, s.here.Host(), &mine, e)
		if mine.got && ctx.Err() == nil {
			s.there.Cancel(ctx, j.ID) // whoever takes it all the same is refused
		}
		return err
	})
}

// claims knows whether an attempt was claimed. One that was not is another host's: to take it off
// the common list would end its work, and if the word of that is lost, nobody does it again while
// that host lives.
type claims struct {
	runner.Orchestrator
	got bool
}

func (c *claims) Claim(ctx context.Context, itemID, host string) (runner.Attempt, error) {
	it, err := c.Orchestrator.Claim(ctx, itemID, host)
	c.got = err == nil
	return it, err
}
