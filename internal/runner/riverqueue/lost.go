package riverqueue

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ramet/internal/database"
	"ramet/internal/fault"
)

// serverFault adds to the driver's errors those of a connection that is no more.
func serverFault(place string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	known := database.PostgresFault(place, err)
	if _, ok := fault.Of(known); ok {
		return known
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, lost) {
			return unreachable(place, err)
		}
	}
	if pgconn.SafeToRetry(err) {
		return unreachable(place, err)
	}
	return err
}

func unreachable(place string, err error) error {
	return fault.New(fault.StorageUnreachable, "%s: the connection was lost: %w", place, err).WithHint("check that the server runs, then repeat")
}

// How often a verb is tried over when its connection is lost, and how long it waits
// before that at first. All verbs may be repeated.
const (
	tries      = 6
	firstPause = 50 * time.Millisecond
)

// persist does a verb, over and over again while connections are lost.
func (q *Queue) persist(ctx context.Context, verb string, do func() error) error {
	q.mu.Lock()
	stopped := q.stopped && q.serving == nil
	q.mu.Unlock()
	if stopped {
		return q.errClosed()
	}
	pause := firstPause
	for n := 1; ; n++ {
		err := q.fail(verb, do())
		if n == tries || !fault.Is(err, fault.StorageUnreachable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// fail turns an error of River or of the driver into a fault.
func (q *Queue) fail(verb string, err error) error {
	err = serverFault(q.place, err)
	if _, known := fault.Of(err); known || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.StorageIO, "%s: %s: %w", q.place, verb, err).WithHint("the queue can be made anew from the log: resume the run")
}
