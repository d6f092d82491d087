package dbosqueue

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
func (s *Server) persist(ctx context.Context, verb string, do func() error) error {
	s.mu.Lock()
	stopped := s.stopped && s.serving == nil
	s.mu.Unlock()
	if stopped {
		return fault.New(fault.Conflict, "%s: the queue is closed", s.pg.Place)
	}
	pause := firstPause
	for n := 1; ; n++ {
		err := s.fail(verb, do())
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
