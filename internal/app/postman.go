package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"ramet/internal/operation/session"
	"ramet/internal/telemetry/outbox"
)

// The postman delivers what telemetry earlier processes could not, to wherever it was to
// go then. Which outboxes those are is noted in ramet's home: a file that lies in a
// project does not make anybody send anything. Every process with a kernel has one; it holds up nobody. What it does not get
// rid of stays for the next.

const (
	nextRound = 10 * time.Second       // for processes that stay
	farewell  = 100 * time.Millisecond // what the end of a process waits for it
)

// startPostman begins a round in the background; stop ends it.
func startPostman(ctx context.Context, ws *session.Workspace) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for waiting(ws) && ctx.Err() == nil {
			goRound(ctx, ws)
			select {
			case <-ctx.Done():
			case <-time.After(nextRound):
			}
		}
	}()
	return func() {
		cancel()
		select {
		case <-done:
		case <-time.After(farewell): // what it does is safe to be broken off
		}
	}
}

func waiting(ws *session.Workspace) bool { return len(noted(ws.Home)) > 0 }

func goRound(ctx context.Context, ws *session.Workspace) {
	closing := &closers{}
	defer closing.close() // of a store that was only written
	w := &routes{ws: ws, note: func(string) {}, closing: closing}
	for _, n := range noted(ws.Home) {
		if ctx.Err() != nil {
			return
		}
		if err := n.deliver(ctx, w); err == nil {
			n.forget(ws.Home)
		}
	}
}

// deliver sends what waits in one outbox, if nobody else does and there is a way.
// nil: nothing waits there any more.
func (n noteOf) deliver(ctx context.Context, w *routes) error {
	if _, err := os.Lstat(n.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	to, err := outbox.Destination(n.Path)
	if err != nil {
		return err
	}
	if to.Name != n.To {
		return nil // it is another one by now
	}
	o, err := w.to(ctx, to)
	if err != nil {
		return err
	}
	if o.Nowhere {
		return errNoWay
	}
	o.Pauses, o.Timeout = []time.Duration{}, held
	box, err := outbox.Open(n.Path, o)
	if err != nil {
		return err // somebody else may have it, and delivers
	}
	ctx, cancel := context.WithTimeout(ctx, held)
	defer cancel()
	return errors.Join(box.Flush(ctx), box.Close())
}

var errNoWay = errors.New("there is no way to it from here")
