package mailbox

import (
	"context"

	"github.com/google/uuid"

	"ramet/internal/store/database"
)

// The two channels. One carries ids of runs, the other ids of requests.
func (c *Client) asked() string    { return database.Channel("ramet_asked", c.schema) }
func (c *Client) answered() string { return database.Channel("ramet_answered", c.schema) }

// listen wakes those who wait, until ctx ends. Who missed a word looks by himself, too.
func (c *Client) listen(ctx context.Context) {
	database.Listen(ctx, c.config, false, c.wakeAll, func(channel, payload string) { c.wake(channel == c.asked(), payload) }, c.asked(), c.answered())
}

func (c *Client) wake(asked bool, payload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked {
		notify(c.serving[payload])
	} else if id, err := uuid.Parse(payload); err == nil {
		notify(c.waiting[id])
	}
}

func (c *Client) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.serving {
		notify(w)
	}
	for _, w := range c.waiting {
		notify(w)
	}
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it will look anyway; nobody: nil
	}
}
