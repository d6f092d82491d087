package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/face/cli"
	"ramet/internal/operation/session"
	"ramet/internal/run"
	"ramet/internal/run/rundir"
	"ramet/internal/runner"
	"ramet/internal/store"
	"ramet/internal/telemetry"
	"ramet/internal/telemetry/otlp"
	"ramet/internal/telemetry/outbox"
)

// takeAgent finds the run's own agent or makes it, and keeps its lease until closing: that is how everybody can
// tell that this process carries the run out.
func (c *carrier) takeAgent(ctx context.Context, closing *closers) error {
	err := c.ws.Unlimited(ctx, "carry out a run")
	if err == nil {
		c.own, err = c.findAgent(ctx)
	}
	found := c.own != ""
	if err == nil && !found {
		c.own, err = c.makeAgent(ctx)
	}
	if err != nil {
		return err
	}
	err = whileLeased(ctx, 2*c.kernel.Lease, func() (err error) { // of one on another host only its lease tells that it is gone
		c.kept, err = c.kernel.Keep(ctx, c.own)
		return err
	})
	if err != nil {
		return err
	}
	closing.add(func() error { c.kept.Release(ctx); return nil })
	if !found {
		return nil
	}
	return orphans(ctx, c.ws.Store, c.own)
}

// findAgent returns the run's own agent, or "" if it has none that lives.
func (c *carrier) findAgent(ctx context.Context) (id.Agent, error) {
	name, ok, err := c.Store.Agent(c.Session.RunID)
	if err != nil || !ok {
		return "", err
	}
	a, err := c.ws.Store.Agent(ctx, id.Agent(name))
	if fault.Is(err, fault.NotFound) || err == nil && agent.NeedLiving(a) != nil {
		return "", nil
	}
	return a.ID, err
}

// makeAgent forks the run's own agent from agent 0, after a clear: the run has nothing to do with that
// conversation. The agent is held from its birth.
func (c *carrier) makeAgent(ctx context.Context) (id.Agent, error) {
	ws, runID := c.ws.Store, c.Session.RunID
	zero, err := agent.Find(ctx, ws, "0")
	if err != nil {
		return "", err
	}
	child := registry.Child{ID: id.NewAgent(), Name: runName(ctx, ws, runID), Cwd: c.ws.Place.Project, Entries: []history.Draft{history.NewClear()}}
	if c.Recipe.Brief != "" {
		said, err := history.Say(history.System, c.Recipe.Brief)
		if err != nil {
			return "", err
		}
		child.Entries = append(child.Entries, said)
	}
	err = whileLeased(ctx, busyTime, func() error {
		_, err := ws.Fork(ctx, registry.Fork{Parent: zero.ID, Children: []registry.Child{child}, Run: runID, Holder: c.kernel.Owner, Tenure: c.kernel.Lease})
		return err
	})
	if err != nil {
		return "", err
	}
	return child.ID, c.Store.PutAgent(runID, string(child.ID))
}

// orphans ends the workers that an earlier process of the run left: their items are done
// again by others.
func orphans(ctx context.Context, ws *store.Cleaned, own id.Agent) error {
	living, err := ws.Agents(ctx, agent.Filter{Brief: true})
	if err != nil {
		return err
	}
	for _, a := range living {
		if a.Parent != own {
			continue
		}
		if _, err := ws.Kill(ctx, registry.Kill{Agent: a.ID, Cascade: true, By: own, Reason: "its item was interrupted"}); err != nil {
			return err
		}
	}
	return nil
}

// runName returns a name for the run's agent that no living agent has, or "" if there is none.
func runName(ctx context.Context, ws *store.Cleaned, runID string) string {
	name := session.RunName + strings.Trim(runID, "-_")
	if agent.CheckName(name) != nil {
		name = name[:min(len(name), 24)]
	}
	if agent.CheckName(name) != nil {
		return ""
	}
	if other, ok, err := ws.Named(ctx, name); err != nil || ok && other.Status == agent.Running {
		return ""
	}
	return name
}

// busyTime limits the time a run waits for agent 0 to be idle.
const busyTime = 30 * time.Second

// whileLeased repeats what is refused because another process holds the agent, for a while.
func whileLeased(ctx context.Context, patience time.Duration, do func() error) error {
	until := time.Now().Add(patience)
	for {
		err := do()
		if !fault.Is(err, fault.Leased) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkAgent returns why the run has to stop because its agent is dead, and nil while it lives or cannot be read.
// Killing the agent on purpose cancels the run, from wherever. An agent that ended otherwise is no cancellation: the
// run is resumed with another one. A lease that was lost is taken again.
func (c *carrier) checkAgent(ctx context.Context) error {
	a, err := c.ws.Store.Agent(ctx, c.own)
	if err != nil {
		return nil
	}
	if agent.NeedLiving(a) == nil {
		if !c.kept.Holds(a) {
			c.kernel.Keep(ctx, c.own) // refused while another process is about to end it: the next look tells
		}
		return nil
	}
	for e, err := range c.ws.Store.QueryRange(ctx, history.Range{Agent: c.own}, history.Selection{Newest: 1, Any: true}) {
		if err != nil {
			return nil
		}
		m, err := e.Decode()
		if err != nil {
			return nil
		}
		if cancelled := cancelledBy(m, c.own); cancelled != nil {
			return cancelled
		}
	}
	return fault.New(fault.Interrupted, "%w: %s", runner.ErrAgentEnded, a.EndReason).WithHint("`ramet run resume %s` continues with another agent", c.Session.RunID)
}

// cancelledBy returns the cancellation that the last entry of a run's agent records, or nil if neither a person nor
// another agent killed it.
func cancelledBy(killed history.Meta, own id.Agent) error {
	reason := killed.Reason
	switch {
	case killed.Actor != nil && (reason == "" || reason == "killed"):
		reason = "cancelled by the user"
	case killed.Actor != nil:
	case killed.By != "" && killed.By != string(own):
		reason = "cancelled by agent " + id.Agent(killed.By).Short() + ": " + reason
	default:
		return nil
	}
	return &runner.Cancelled{Reason: reason}
}

// watch checks the run's agent until ctx ends, and stops the run when it is dead.
func (c *carrier) watch(ctx context.Context, r *runner.Run) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if why := c.checkAgent(ctx); why != nil {
			r.Stop(why)
			return
		}
	}
}

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
	otlp  *otlp.Exporter            // nil: no spans are sent

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
