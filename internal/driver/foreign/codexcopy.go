package foreign

import (
	"time"

	"github.com/google/uuid"
)

// codexCopy tells what a forked session of Codex repeats of its original's usage: a fork that is a copy repeats
// the lines of the original, with new times; one that points at its original begins with the sum of it.
type codexCopy struct {
	forked  bool
	pointer bool      // the beginning is in the file of the original
	born    time.Time // when the fork was made
	turn    time.Time // when the turn began that lines are of; zero: nobody can tell
	own     bool      // something was said in this session
}

// begins takes down that a session is a fork.
func (c *codexCopy) begins(id, at string, pointer bool) {
	c.forked, c.pointer = true, pointer
	if c.born = drawn7(id); c.born.IsZero() {
		c.born, _ = time.Parse(time.RFC3339, at)
	}
}

// see takes down what a line tells of whose turn it is.
func (c *codexCopy) see(l codexLine, it codexItem, r role) {
	if !c.forked {
		return
	}
	if it.Turn != "" {
		c.turn = drawn7(it.Turn)
	}
	c.own = c.own || c.pointer && r == answer
}

// copying is as long as it may take to write a copy; no model answers sooner.
const copying = time.Second

// told says that what a line tells was used in the original.
func (c *codexCopy) told(at string) bool {
	switch {
	case !c.forked:
		return false
	case c.pointer:
		return !c.own
	case !c.turn.IsZero():
		return c.turn.Before(c.born)
	}
	t, err := time.Parse(time.RFC3339, at)
	return err == nil && t.Before(c.born.Add(copying))
}

// drawn7 is the moment at which an id was drawn that tells it (UUID, version 7); zero: it does not.
func drawn7(name string) time.Time {
	u, err := uuid.Parse(name)
	if err != nil || u.Version() != 7 {
		return time.Time{}
	}
	ms := int64(0)
	for _, b := range u[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms)
}
