package httpapi

import (
	"context"
	"sync"
	"time"

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

// sums remembers totals for ten times as long as it took to add them up, so that
// whoever asks all the time costs no more than a tenth of a processor.
type sums struct {
	mu     sync.Mutex
	totals []telemetry.Total
	until  time.Time
}

func (s *sums) get(ctx context.Context, from totaler) ([]telemetry.Total, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	if began.Before(s.until) {
		return s.totals, nil
	}
	totals, err := from.Totals(ctx)
	if err != nil {
		return nil, err
	}
	s.totals, s.until = totals, time.Now().Add(10*time.Since(began))
	return totals, nil
}

// totaler is a store that adds up its records for /metrics.
type totaler interface {
	Totals(ctx context.Context) ([]telemetry.Total, error)
}
