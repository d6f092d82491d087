package operation

import (
	"context"
	"encoding/json"
	"math"
	"sync"

	"ramet/internal/run"
	"ramet/internal/run/rundir"
)

// runCosts knows what the calls of runs cost. Of a log that was read before, only what came behind
// is read.
type runCosts struct {
	mu    sync.Mutex // guards known
	known map[string]runCost
}

type runCost struct {
	events, nano, calls int64
	last                string // hash of the last event that was counted: a run may be made anew under its id
}

// of counts what a run cost. A log that is damaged is counted up to there: verify says where.
func (k *runCosts) of(ctx context.Context, runID string, r *rundir.Reader) (nano, calls int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[string]runCost{}
	}
	c := k.known[runID]
	if !c.goesOn(ctx, r) {
		c = runCost{}
		c.goesOn(ctx, r)
	}
	k.known[runID] = c
	return c.nano, c.calls
}

// goesOn counts what came behind the last event that was counted; false: that one is not there.
func (c *runCost) goesOn(ctx context.Context, r *rundir.Reader) bool {
	n, seen := max(0, c.events-1), c.events == 0
	for e, err := range r.Events(ctx, n) {
		if err != nil {
			return seen
		}
		n++
		if n == c.events {
			if seen = e.Hash == c.last; !seen {
				return false
			}
			continue
		}
		c.add(e.Event)
		c.events, c.last = n, e.Hash
	}
	return seen
}

func (c *runCost) add(e run.Event) {
	if e.Type != run.LLMCallFinished {
		return
	}
	c.calls++
	var end run.CallEnd
	if json.Unmarshal(e.Payload, &end) == nil && end.CostUSD != nil {
		c.nano += int64(math.Round(*end.CostUSD * 1e9))
	}
}
