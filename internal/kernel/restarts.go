package kernel

import (
	"time"
)

// stack is the stack trace of a panicked turn, for readers of events.
type stack []byte

func (s stack) Error() string { return string(s) }

// restarts counts how often a process broke lately.
type restarts []time.Time

// allow reports whether another try is allowed.
func (r *restarts) allow(now time.Time) bool {
	kept := (*r)[:0]
	for _, at := range *r {
		if now.Sub(at) < restartWindow {
			kept = append(kept, at)
		}
	}
	*r = append(kept, now)
	return len(*r) <= maxRestarts
}

const (
	maxRestarts   = 3
	restartWindow = time.Minute
)
