package run

import (
	"encoding/hex"
	"fmt"

	"ramet/internal/fault"
)

// Chain checks that events follow each other: one run, unique ids, and each hash
// on the one before. Its memory grows with the events, 16 bytes and a map's share
// for each.
type Chain struct {
	runID string
	prev  string
	ids   map[[16]byte]struct{}
}

// NewChain begins a run's chain. prev is "" unless the run was forked: then it is
// the hash of the parent's event at the fork point.
func NewChain(runID, prev string) *Chain {
	return &Chain{runID: runID, prev: prev, ids: map[[16]byte]struct{}{}}
}

// Next takes the next event. The reason of a refusal names no line: whoever reads
// the log knows it.
func (c *Chain) Next(e Event) error {
	switch {
	case e.RunID != c.runID:
		return fmt.Errorf("it is an event of run %s, not of %s", e.RunID, c.runID)
	case e.PrevHash != c.prev:
		return fmt.Errorf("prev_hash is %.16q…, the event before has %.16q…", e.PrevHash, c.prev)
	case e.Sum() != e.Hash:
		return fmt.Errorf("event_hash does not fit the event")
	}
	id := packUUID(e.ID)
	if _, twice := c.ids[id]; twice {
		return fmt.Errorf("event_id %s stands twice", e.ID)
	}
	c.ids[id] = struct{}{}
	c.prev = e.Hash
	return nil
}

// Prev is the hash that the next event must name.
func (c *Chain) Prev() string { return c.prev }

func packUUID(s string) (out [16]byte) {
	if len(s) == 36 {
		hex.Decode(out[:], []byte(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:]))
	}
	return out
}

// Broken is damage of a log: line from 1, byte from 0.
func Broken(place string, line, offset int64, format string, args ...any) error {
	return fault.New(fault.EventChainBroken, "%s line %d (byte %d): %s", place, line, offset, fmt.Sprintf(format, args...)).
		WithHint("the log was changed or cut; compare with a copy kept elsewhere")
}
