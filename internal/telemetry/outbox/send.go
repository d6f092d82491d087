package outbox

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/model/llm"
	"ramet/internal/telemetry"
)

// window limits the deliveries that are sent together.
const window = 128

// wire sends the parcels of a method that are not done, in order, and sets the outcome of each. An error means that the
// rest can be tried again.
type wire func(ctx context.Context, method string, all []*parcel) error

// parcel is a delivery that waits, or is on its way.
type parcel struct {
	telemetry.Delivery
	done    bool
	refusal *refusal // until it is reported
}

// refusal is the answer to a delivery that is never tried again.
type refusal struct {
	status int // of HTTP; 0: it was no HTTP
	answer string
}

// serve sends until ctx ends.
func (b *Outbox) serve(ctx context.Context) {
	defer close(b.ended)
	down := false
	later := time.NewTimer(0)
	defer later.Stop()
	for {
		wake := b.wake
		if down { // only the timer or Wake makes another try
			wake = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
			b.gather(ctx)
		case <-b.now:
		case <-later.C:
		}
		for b.waiting() {
			err := b.round(ctx, down)
			if ctx.Err() != nil {
				return
			}
			if down = err != nil; down {
				b.giveUp(err)
				later.Reset(b.Later)
				break
			}
			if b.few() {
				b.gather(ctx)
			}
		}
	}
}

// gatherTime is the wait for further deliveries: one write for many slows the work down less.
const gatherTime = 100 * time.Millisecond

// gather waits for more deliveries, unless a caller of Flush waits.
func (b *Outbox) gather(ctx context.Context) {
	t := time.NewTimer(gatherTime)
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.now:
	case <-ctx.Done():
	}
}

func (b *Outbox) waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0
}

// few reports whether something waits, and less than a round sends.
func (b *Outbox) few() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0 && len(b.queue) < window
}

// giveUp ends a round that led to nothing.
func (b *Outbox) giveUp(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = b.rounds
	b.why = err
	if b.torn {
		b.rewrite()
	}
	b.notify()
}

// round sends the head of the queue, with all retries; without them if the service was down before.
func (b *Outbox) round(ctx context.Context, down bool) error {
	b.mu.Lock()
	b.rounds++
	parcels := slices.Clone(b.queue[:min(len(b.queue), window)])
	b.mu.Unlock()
	pauses := b.Pauses
	if down {
		pauses = nil
	}
	for try := 0; ; try++ {
		err := b.wire(ctx, http.MethodPost, parcels)
		b.disown(parcels)
		if err == nil {
			err = b.wire(ctx, http.MethodPatch, parcels)
		}
		for _, p := range parcels {
			if p.refusal != nil {
				b.refused(p)
				p.refusal = nil
			}
		}
		b.removeDone()
		if err == nil || ctx.Err() != nil {
			return err
		}
		err = errors.New(b.hide(err.Error()))
		if try >= len(pauses) {
			return err
		}
		if !llm.Sleep(ctx, pauses[try]) {
			return ctx.Err()
		}
	}
}

// anotherRun is the refusal of a record whose id another has. Its changes would change that one.
const anotherRun = "another run of this id is recorded already"

// disown refuses the changes of records that belong to another run.
func (b *Outbox) disown(all []*parcel) {
	for _, p := range all {
		if p.refusal != nil && p.refusal.answer == anotherRun {
			b.others[p.EventID] = true
		}
		if !p.done && b.others[p.EventID] {
			p.done, p.refusal = true, &refusal{0, anotherRun}
		}
	}
}

// refused keeps and reports a delivery that was refused.
func (b *Outbox) refused(p *parcel) {
	l := line{Method: p.Method, Path: p.Path(), Body: p.Body}
	err := b.setAside(&l, nil, p.refusal.status, p.refusal.answer)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dead++
	switch {
	case p.refusal.answer != anotherRun:
		b.Report(fault.New(fault.Conflict, "telemetry %s %s was refused (%d): %.300s", p.Method, p.Path(), p.refusal.status, b.hide(p.refusal.answer)).
			WithHint("it is kept in %s", deadPath(b.path)))
	case !b.told: // once: it is true of all that follows
		b.told = true
		b.Report(fault.New(fault.Conflict, "%s: this one is not", anotherRun).
			WithHint("give it another id; what would have been recorded is kept in %s", deadPath(b.path)))
	}
	if err != nil {
		b.trouble(err)
	}
}
