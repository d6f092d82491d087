package mailbox

import (
	"context"
	"time"

	"ramet/internal/store/database"
)

// firstPause is how long to wait before looking again, at first.
const firstPause = 50 * time.Millisecond

// persist does something that may be done twice, until it is done, refused, or ctx ends.
func (c *Client) persist(ctx context.Context, do func(ctx context.Context) error) error {
	return database.Patience{Place: c.place, Attempt: attempt}.Persist(ctx, do)
}

// once does something that may as well not be done.
func (c *Client) once(ctx context.Context, query string, args ...any) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c.pool.Exec(ctx, query, args...)
}

// fail turns an error of the driver into a fault.
func (c *Client) fail(err error) error { return database.Patience{Place: c.place}.Fault(err) }
