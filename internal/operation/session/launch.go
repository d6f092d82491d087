package session

import (
	"context"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/turn/loop"
)

// Launched is a turn that goes on without whoever asked for it.
type Launched struct {
	done chan struct{}
	ran  Ran
	err  error
}

// Done is closed when the turn is over.
func (l *Launched) Done() <-chan struct{} { return l.done }

// Ran returns the result. It may only be called after Done.
func (l *Launched) Ran() (Ran, error) { return l.ran, l.err }

// Launch begins a turn as Run does, and returns when it has begun, or waits behind another
// one of its agent: why it could not begin, is said. It goes on until it is over or life
// ends. A kernel must run here.
func (w Agents) Launch(ctx, life context.Context, t Turn) (*Launched, error) {
	// Checked with ctx, which knows who asks; the turn itself is nobody's.
	if err := w.ws.mayPrompt(ctx, t.Agent); err != nil {
		return nil, err
	}
	if t.Prompt.Task {
		if err := w.Room(ctx); err != nil {
			return nil, err
		}
	}
	began := make(chan struct{})
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(life, cancel)
	heard, enough := w.ws.Kernel.Events.Subscribe(work)
	go func() {
		for e := range heard {
			if e.Type == loop.TurnStarted && e.Agent == t.Agent {
				close(began)
				return
			}
		}
	}()
	out := &Launched{done: make(chan struct{})}
	go func() {
		defer close(out.done)
		defer cancel()
		defer stop()
		defer enough()
		out.ran, out.err = w.ws.Turns().Run(work, t)
	}()
	patience := time.NewTimer(beginTime)
	defer patience.Stop()
	select {
	case <-began:
	case <-patience.C: // it waits for the turn before
	case <-ctx.Done():
	case <-out.done:
		if !out.ran.Began {
			return nil, out.err
		}
	}
	return out, nil
}

// Room refuses an agent that has as many at work below it as models may have (max_agents).
// Persons may have as many as they like.
func (w Agents) Room(ctx context.Context) error {
	own, most := w.ws.asks(ctx), w.ws.Config.Number("max_agents")
	if own == "" || most <= 0 {
		return nil
	}
	all, err := w.Everybody(ctx)
	if err != nil {
		return err
	}
	below, busy := map[id.Agent]bool{own: true}, 0
	for _, a := range all.All { // parents come before children
		if below[a.Parent] {
			below[a.ID] = true
			if all.States[a.ID].Busy() {
				busy++
			}
		}
	}
	if busy >= most {
		return fault.New(fault.Conflict, "%d agents work or wait already below %s", busy, own.Short()).
			WithHint("none was forked; do it yourself, or wait for some to end")
	}
	return nil
}
