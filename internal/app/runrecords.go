package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/face/cli"
	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/telemetry"
	"ramet/internal/telemetry/otlp"
	"ramet/internal/telemetry/outbox"
)

// runRecords follows the log of a run into telemetry. It never stops or slows the run: what
// cannot be delivered now waits in the run's folder, and all of it follows from the log.
type runRecords struct {
	note func(string)
	box  *outbox.Outbox
	// Outboxes of other destinations, to which the run was recorded before. A record's
	// changes go to where it was made.
	older []*outbox.Outbox
	made  map[string]*outbox.Outbox // by event_id: those of older whose records changed in this process
	past  *outbox.Outbox            // of these, who followed the log last, while it is read again
	begun int64                     // events that it was told of
	otlp  *otlp.Exporter            // nil: nobody asked for spans

	mu     sync.Mutex
	follow telemetry.Follow
	seen   int64 // events of the log
}

// mark is the name under which the outbox remembers how far the log was followed.
const mark = "log"

// lastDelivery limits the time the end of a run waits for pending deliveries.
const lastDelivery = 2 * time.Second

// runRecordsOf opens the runRecords of a run and catches up with its log. nil: there is none,
// and the note says why.
func runRecordsOf(ctx context.Context, ws *session.Workspace, r cli.Job, closing *closers) *runRecords {
	c := &runRecords{note: r.Warn, made: map[string]*outbox.Outbox{}}
	if c.note == nil {
		c.note = func(string) {}
	}
	if err := c.open(ctx, ws, r, closing); err != nil {
		c.note("this run is not recorded in telemetry: " + err.Error())
		return nil
	}
	return c
}

func (c *runRecords) open(ctx context.Context, ws *session.Workspace, r cli.Job, closing *closers) error {
	w := &routes{ws: ws, note: c.note, closing: closing}
	plain := filepath.Join(r.Store.Dir(r.Session.RunID), outboxFile)
	var err error
	var shut func() error
	if c.box, shut, err = w.open(ctx, plain); err != nil {
		return err
	}
	closing.add(shut)
	if err := c.openOlder(ctx, w, plain, closing); err != nil {
		return err
	}
	if c.otlp, err = spans(c.note, closing); err != nil {
		return err
	}
	for e, err := range r.Session.Events(ctx, 0) {
		if err != nil {
			return err
		}
		c.tell([]run.Event{e.Event})
	}
	c.past = nil             // from now on it goes here
	host, _ := os.Hostname() // without it the record has none
	c.mu.Lock()
	c.follow.Here(telemetry.RunAbout{Host: host, TriggerType: "cli"})
	c.mu.Unlock()
	return nil
}

// openOlder opens the outboxes of the run that go elsewhere.
func (c *runRecords) openOlder(ctx context.Context, w *routes, plain string, closing *closers) error {
	for _, path := range outboxesBeside(plain) {
		to, err := outbox.Destination(path)
		if err != nil {
			return err
		}
		if to.Name == c.box.To().Name {
			continue
		}
		o, err := w.to(ctx, to)
		if err != nil {
			return err
		}
		box, shut, err := w.openAt(ctx, path, o)
		if err != nil {
			return err
		}
		closing.add(shut)
		c.older = append(c.older, box)
		if n := box.Marked(mark); c.past == nil || n > c.begun {
			c.past, c.begun = box, n
		}
	}
	if n := c.box.Marked(mark); n > c.begun {
		c.past, c.begun = nil, n
	}
	return nil
}

// put hands on what follows from the log up to now. The caller holds mu.
func (c *runRecords) put(deliveries []telemetry.Delivery) {
	own := deliveries[:0:0]
	for _, d := range deliveries {
		if i := slices.IndexFunc(c.older, func(b *outbox.Outbox) bool { return b.Made(d) }); i >= 0 {
			c.made[d.EventID] = c.older[i] // for changes after its end too
		}
		if box := c.made[d.EventID]; box != nil {
			box.Put(d)
			continue
		}
		own = append(own, d)
	}
	if c.past != nil {
		c.past.PutMarked(mark, c.seen, own...)
		return
	}
	c.box.PutMarked(mark, c.seen, own...)
}

// The variables that name another telemetry service.
const (
	telemetryURL   = "TELEMETRY_API_URL"
	telemetryToken = "TELEMETRY_API_TOKEN"
)

// outboxFile names the file of undelivered records in the folder of a run.
const outboxFile = "telemetry_outbox.jsonl"

// tell follows events; those that were followed before give nothing new.
func (c *runRecords) tell(events []run.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := max(c.begun, c.box.Marked(mark))
	var fresh []telemetry.Delivery
	moved := false
	for _, e := range events {
		c.seen++
		deliveries := c.follow.Next(e)
		if c.seen <= known {
			c.otlp.Learn(deliveries...)
			continue
		}
		fresh, moved = append(fresh, deliveries...), moved || e.Type == run.RunStateChanged
	}
	if c.seen <= known {
		return
	}
	c.put(fresh)
	c.otlp.Put(fresh...)
	if moved {
		c.box.Wake() // what is known to be down is asked again
	}
}

// spans sends telemetry to an OpenTelemetry collector too, if the usual variables say so.
func spans(note func(string), closing *closers) (*otlp.Exporter, error) {
	config, ok, err := otlp.Configure(os.Getenv, version)
	if err != nil || !ok {
		return nil, err
	}
	e := otlp.New(config, otlp.Options{Report: func(err error) { note("OpenTelemetry: " + err.Error()) }})
	closing.add(func() error { e.Close(); return nil })
	return e, nil
}

// end records how this process left the run, and waits a while for the last deliveries.
func (c *runRecords) end(ctx context.Context, x *rundir.Session, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastDelivery)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := x.CurrentState(); err != nil && !state.Terminal() {
		last := c.follow.Stop(string(fault.CodeOf(err)), err.Error(), time.Now())
		c.put(last)
		c.otlp.Put(last...)
	}
	flushed := c.box.Flush(ctx)
	if err := c.otlp.Flush(ctx); err != nil {
		c.note("OpenTelemetry: " + err.Error())
	}
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
