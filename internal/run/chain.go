package run

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
)

// Chain checks that events follow each other: one run, unique ids, and each hash
// on the one before. Its memory grows with the events, 16 bytes and a map's share
// for each.
type Chain struct {
	runID string
	prev  string
	ids   map[uuid.UUID]struct{}
}

// NewChain begins a run's chain. prev is "" unless the run was forked: then it is
// the hash of the parent's event at the fork point.
func NewChain(runID, prev string) *Chain {
	return &Chain{runID: runID, prev: prev, ids: map[uuid.UUID]struct{}{}}
}

// BeginChain makes the chain of a log's first event, which is still to be added with Follow.
func BeginChain(first Event) (*Chain, error) {
	prev, err := RootHash(first.Type, first.Payload)
	if err != nil {
		return nil, err
	}
	return NewChain(first.RunID, prev), nil
}

// Follow adds the next event, which is Intact. The reason of a refusal names no line: the caller knows it.
func (c *Chain) Follow(e Event) error {
	switch {
	case e.RunID != c.runID:
		return fmt.Errorf("it is an event of run %s, not of %s", e.RunID, c.runID)
	case e.PrevHash != c.prev:
		return fmt.Errorf("prev_hash is %.16q…, the event before has %.16q…", e.PrevHash, c.prev)
	}
	if c.Has(e.ID) {
		return fmt.Errorf("event_id %s appears twice", e.ID)
	}
	c.follow(e)
	return nil
}

func (c *Chain) follow(e Event) {
	id, _ := uuid.Parse(e.ID) // ParseLine has checked its form
	c.ids[id] = struct{}{}
	c.prev = e.Hash
}

var errHash = errors.New("event_hash does not fit the event")

// RootHash returns the prev_hash of a log's first event: "" unless it continues another
// run (RUN_FORKED); then the hash of that run's event, which its payload names.
func RootHash(t Type, payload []byte) (string, error) {
	if t != RunForked {
		return "", nil
	}
	f, err := ParseFork(Event{Type: t, Payload: payload})
	return f.EventHash, err
}

// Prev returns the hash that the next event must name.
func (c *Chain) Prev() string { return c.prev }

// RunID returns the run of the events.
func (c *Chain) RunID() string { return c.runID }

// Has reports whether an event of this id was taken.
func (c *Chain) Has(eventID string) bool {
	id, _ := uuid.Parse(eventID)
	_, has := c.ids[id]
	return has
}

// ChainBroken returns the error of a damaged log. Lines count from 1, bytes from 0.
func ChainBroken(place string, line, offset int64, format string, args ...any) error {
	return fault.New(fault.EventChainBroken, "%s line %d (byte %d): %s", place, line, offset, fmt.Sprintf(format, args...)).
		WithHint("the log was changed or cut; compare with a copy kept elsewhere")
}
