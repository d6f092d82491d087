package loop

import "time"

// A cache is kept for five minutes by default, and can be kept for an hour, which
// costs more to write and pays for those who are asked again after a longer pause:
// parents that wait for their children, conversations that people come back to.
const (
	shortCache = 5 * time.Minute
	longCache  = time.Hour
)

// pauses notices that an agent is one of those: between two requests more time
// went by than the short cache lasts, and less than the long one.
type pauses struct {
	last time.Time // when the last answer was whole
	long bool
}

// ask tells of a request, and answers whether what it marks should be kept for
// an hour. before is how long the agent did nothing before its turn.
func (p *pauses) ask(now time.Time, before time.Duration) bool {
	gap := before
	if !p.last.IsZero() {
		gap = now.Sub(p.last)
	}
	p.long = p.long || gap > shortCache && gap <= longCache
	return p.long
}

func (p *pauses) answered(now time.Time) { p.last = now }
