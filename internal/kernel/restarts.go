package kernel

import (
	"time"
)

// stack is where a turn broke, for those who look at events.
type stack []byte

func (s stack) Error() string { return string(s) }

// restarts counts how often a process broke lately.
type restarts []time.Time

// allow says whether it may be tried once more.
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
