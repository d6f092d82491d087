package post

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The two channels. One carries ids of runs, the other ids of requests.
func (c *Client) asked() string    { return channel("asked", c.schema) }
func (c *Client) answered() string { return channel("answered", c.schema) }

func channel(what, schema string) string {
	sum := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("ramet_%s_%x", what, sum[:16])
}

// listen wakes those who wait, until ctx ends, and connects again by itself.
func (c *Client) listen(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		c.hear(ctx, func() { pause = firstPause }) // why it ended matters to nobody: everybody looks by himself, too
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

func (c *Client) hear(ctx context.Context, connected func()) error {
	conn, err := pgx.ConnectConfig(ctx, c.config.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, channel := range []string{c.asked(), c.answered()} {
		if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{channel}.Sanitize()); err != nil {
			return err
		}
	}
	connected()
	c.wakeAll() // something may have been said before
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		c.wake(n.Channel == c.asked(), n.Payload)
	}
}

func (c *Client) wake(asked bool, payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked {
		nudge(c.serving[payload])
	} else if id, err := uuid.Parse(payload); err == nil {
		nudge(c.waiting[id])
	}
}

func (c *Client) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.serving {
		nudge(w)
	}
	for _, w := range c.waiting {
		nudge(w)
	}
}

func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will look anyway; nobody: nil
	}
}
