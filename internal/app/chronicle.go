package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ramet/internal/cli"
	"ramet/internal/fault"
	"ramet/internal/run"
	"ramet/internal/rundir"
	"ramet/internal/telemetry/follow"
	"ramet/internal/telemetry/outbox"
)

// chronicle follows the log of a run into telemetry. It never stops or slows the run: what
// cannot be delivered now waits in the run's folder, and all of it follows from the log.
type chronicle struct {
	note func(string)
	box  *outbox.Outbox

	mu     sync.Mutex
	follow follow.Follow
	seen   int64 // events of the log
}

// mark is the name under which the outbox remembers how far the log was followed.
const mark = "log"

// lastDelivery is how long the end of a run waits for what was not delivered yet.
const lastDelivery = 5 * time.Second

// chronicleOf opens the chronicle of a run and catches up with its log. nil: there is none,
// and the note says why.
func chronicleOf(ctx context.Context, r cli.RunRequest, closing *closers) *chronicle {
	c := &chronicle{note: r.Kernel.Warn}
	if c.note == nil {
		c.note = func(string) {}
	}
	if err := c.open(ctx, r, closing); err != nil {
		c.note("this run is not recorded in telemetry: " + err.Error())
		return nil
	}
	return c
}

func (c *chronicle) open(ctx context.Context, r cli.RunRequest, closing *closers) error {
	options, err := deliveryOptions(ctx, r.Kernel, closing, c.note)
	if err != nil {
		return err
	}
	if c.box, err = outbox.Open(filepath.Join(r.Store.Dir(r.Session.RunID), "telemetry_outbox.jsonl"), options); err != nil {
		return err
	}
	closing.add(c.box.Close)
	for e, err := range r.Session.Events(ctx, 0) {
		if err != nil {
			return err
		}
		c.tell(e.Event)
	}
	host, _ := os.Hostname() // without it the record has none
	c.mu.Lock()
	c.follow.Here(follow.About{Host: host, TriggerType: "cli"})
	c.mu.Unlock()
	return nil
}

// deliveryOptions is where telemetry goes: to the service that the user names, or into the
// records of this home.
func deliveryOptions(ctx context.Context, r cli.KernelRequest, closing *closers, note func(string)) (outbox.Options, error) {
	o := outbox.Options{Report: func(err error) { note("telemetry: " + err.Error()) }}
	if o.URL = os.Getenv("TELEMETRY_API_URL"); o.URL != "" {
		o.Token = os.Getenv("TELEMETRY_API_TOKEN")
		return o, nil
	}
	kept, err := openTelemetry(ctx, r)
	if err != nil {
		return o, err
	}
	closing.add(kept.Close)
	o.Local = kept
	return o, nil
}

// tell follows one event; those that were followed before give nothing new.
func (c *chronicle) tell(e run.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	deliveries := c.follow.Next(follow.Event{RunID: e.RunID, Type: string(e.Type), TS: e.TS, Payload: e.Payload,
		TraceID: e.TraceID, SpanID: e.SpanID, ParentSpan: e.ParentSpan})
	if c.seen > c.box.Marked(mark) {
		c.box.PutMarked(mark, c.seen, deliveries...)
	}
}

// end says how this process left the run, and waits a while for the last deliveries.
func (c *chronicle) end(ctx context.Context, x *rundir.Session, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastDelivery)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := x.Now().RunState; err != nil && !state.Terminal() {
		c.box.Put(c.follow.Stop(string(fault.CodeOf(err)), err.Error(), time.Now())...)
	}
	flushed := c.box.Flush(ctx)
	left, refused := c.box.Unsent(), c.box.Dead()
	if left == 0 && refused == 0 {
		return
	}
	why := fmt.Sprintf("%d telemetry records wait to be delivered and %d were refused", left, refused)
	if flushed != nil {
		why += ": " + flushed.Error()
	}
	c.box.Put(c.follow.Partial(why)...)
	c.note(why)
}
