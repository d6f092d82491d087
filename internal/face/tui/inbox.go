package tui

import (
	"context"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/turn/loop"
)

// inbox gathers events while the screen is being drawn, so that many of them cost
// one drawing.
type inbox struct {
	mu      sync.Mutex
	waiting []loop.Event // guarded by mu
	given   time.Time    // when events were last handed out; guarded by mu
	wake    chan struct{}
}

// pause is how long events are gathered after some were handed out: nobody reads
// faster, and the processor is left to keys, which wait for nothing.
const pause = 33 * time.Millisecond

type eventsMsg []loop.Event

func newInbox(ctx context.Context, events iter.Seq[loop.Event]) *inbox {
	in := &inbox{wake: make(chan struct{}, 1)}
	go func() {
		for e := range events {
			in.mu.Lock()
			in.waiting = append(in.waiting, e)
			in.mu.Unlock()
			select {
			case in.wake <- struct{}{}:
			default:
			}
		}
	}()
	return in
}

func (in *inbox) next(ctx context.Context) tea.Cmd {
	if in == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case <-in.wake:
		case <-ctx.Done():
			return nil
		}
		in.mu.Lock()
		rest := time.Until(in.given.Add(pause))
		in.mu.Unlock()
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return nil
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		batch := in.waiting
		in.waiting, in.given = nil, time.Now()
		return eventsMsg(batch)
	}
}
