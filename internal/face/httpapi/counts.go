package httpapi

import (
	"context"
	"sync"

	"ramet/internal/telemetry"
)

// counts holds the HTTP counters of /metrics.
type counts struct {
	mu       sync.Mutex
	requests map[counted]int64
	panics   int64
	streams  int64
}

type counted struct {
	route  string
	status int
}

func (c *counts) answered(route string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[counted]int64{}
	}
	c.requests[counted{route, status}]++
}

func (c *counts) stream(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams += n
}

func (c *counts) panicked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.panics++
}

// totaler is a store that adds up its records for /metrics.
type totaler interface {
	Totals(ctx context.Context) ([]telemetry.Total, error)
}
