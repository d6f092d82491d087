package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals is a context that ends with the first SIGINT or SIGTERM. They are caught from the moment
// somebody could notice, that is, asks when it ends. Until then they end the process, as they do
// before main: catching takes two threads, which a command that waits for nothing need not start.
type signals struct {
	context.Context // what it is until then
	once            sync.Once
	caught          context.Context // nil: nobody has asked
	mu              sync.Mutex
}

func (s *signals) Done() <-chan struct{} {
	s.once.Do(func() {
		ctx, _ := signal.NotifyContext(s.Context, os.Interrupt, syscall.SIGTERM) // until the process ends
		s.mu.Lock()
		defer s.mu.Unlock()
		s.caught = ctx
	})
	return s.now().Done()
}

func (s *signals) Err() error { return s.now().Err() }

// Value finds what ended it, and lets contexts below end with it without a goroutine of their own.
func (s *signals) Value(key any) any { return s.now().Value(key) }

func (s *signals) now() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.caught == nil {
		return s.Context
	}
	return s.caught
}
