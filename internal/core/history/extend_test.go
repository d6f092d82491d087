package history

import "ramet/internal/base/id"

// Extend takes an entry that was just appended. It returns false when the
// entry brings back or takes away what is not in memory alone (rewind,
// compact, redact): then the context is stale and Replay makes a new one.
func (c *Context) Extend(e Entry) (bool, error) {
	if err := c.Outline.Apply(e); err != nil {
		return false, err
	}
	switch {
	case e.Kind.Reaches():
		c.Messages = append(c.Messages, e)
	case e.Kind == Clear:
		c.Messages = nil
	case e.Kind == Rewind || e.Kind == Compact || e.Kind == Redact:
		return false, nil
	}
	return true, nil
}

// Wall returns the most recent clear; 0 if there is none.
func (o *Outline) Wall() id.Message { return o.wall }
