package post

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

// How long to wait before trying again, at first and at last.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// persist does something that may be done twice, over and over again while connections
// are lost, until it is done, refused, or ctx ends.
func (c *Client) persist(ctx context.Context, do func(ctx context.Context) error) error {
	pause := firstPause
	for {
		try, cancel := context.WithTimeout(ctx, attempt)
		err := do(try)
		late := try.Err() != nil
		cancel()
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		if again := late || transient(err); err == nil || !again && !fault.Is(c.fail(err), fault.StorageUnreachable) {
			return c.fail(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// transient: waited too long for somebody else, or the victim of a deadlock.
func transient(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "55P03" || e.Code == "40P01" || e.Code == "40001")
}

// once does something that may as well not be done.
func (c *Client) once(ctx context.Context, query string, args ...any) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c.pool.Exec(ctx, query, args...)
}

// fail turns an error of the driver into a fault.
func (c *Client) fail(err error) error {
	if err == nil {
		return nil
	}
	known := database.PostgresFault(c.place, err)
	if _, ok := fault.Of(known); ok {
		return known
	}
	var network net.Error
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server):
		return fault.New(fault.Failed, "%s: %s (SQLSTATE %s)", c.place, server.Message, server.Code)
	case pgconn.SafeToRetry(err), errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.StorageUnreachable, "%s: the connection was lost: %w", c.place, err).WithHint("check that the server runs, then repeat")
	}
	return fault.New(fault.Failed, "%s: %w", c.place, err)
}
