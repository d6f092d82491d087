package registry

import (
	"context"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
)

// Ties are how everybody's histories hang together, besides forks: what turned them, and the
// letters between them.
type Ties struct {
	Shaping []history.Entry          // what shaped them (Kind.Shapes), by id
	Times   map[id.Message]time.Time // when the entries were written to which those of Shaping go back
	Letters []mail.Letter            // of all mailboxes, hidden ones too, by id; without their bodies
	More    bool                     // older ones were left out
}

// Tied is a workspace whose ties can be read.
type Tied interface {
	// Ties reads the newest of each, at most so many, as they are at one moment. What it
	// costs does not depend on how much was said.
	Ties(ctx context.Context, most int) (Ties, error)
}
