package kernel

import (
	"context"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/driver/gateway"
	"ramet/internal/turn/loop"
)

// Start makes a kernel and lets it take up its duties: renewing leases, hearing
// the bell, closing what dead kernels left open.
func Start(ctx context.Context, o Options) (*Kernel, error) {
	if o.Lease == 0 {
		o.Lease = LeaseTTL
	}
	if o.Pulse == 0 {
		o.Pulse = o.Lease / 3
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Now().Round(0) } // the time in which the machine sleeps counts
	}
	if o.Wake == "" {
		o.Wake = WakeFamily
	}
	if o.Rest == 0 {
		o.Rest = restAfter
	}
	ctx = history.Unattended(ctx) // what a kernel does by itself no person does
	k := &Kernel{Options: o, live: map[id.Agent]*agentProcess{}, idle: map[id.Agent]*kept{}, waiters: map[*agentProcess]bool{}, announced: map[id.Agent]int64{}, mending: map[id.Agent]chan struct{}{}, keeps: map[id.Agent]agent.Lease{}}
	k.ctx, k.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	k.drafts.kernel = k
	if o.Assemble != nil {
		k.Parts = o.Assemble(k)
	}
	k.reserver = gateway.NewReserver(o.Store, o.Owner)
	if err := k.Recover(ctx); err != nil {
		k.cancel(errStopped())
		return nil, err
	}
	for _, work := range []func(){k.renew, k.guard, k.rest, k.drafts.flushAll, k.listen} {
		k.work.Go(work)
	}
	return k, nil
}

// Stop ends all turns and returns when nothing runs any more. What was open is
// closed in the histories, as after any interruption.
func (k *Kernel) Stop() {
	k.mu.Lock() // whoever starts a goroutine has looked whether it may, and has it
	k.cancel(errStopped())
	k.mu.Unlock()
	k.gate.close()
	k.work.Wait()
	k.Events.Close()
}

// listen hears what other processes did to agents.
func (k *Kernel) listen() {
	// What a ring leads to may take its time; the bell does not wait for it.
	err := k.Store.Listen(k.ctx, func(r registry.Ring) {
		k.work.Go(func() { k.Ring(k.ctx, r) })
	})
	if err != nil && k.ctx.Err() == nil {
		k.Events.Publish(loop.Event{Type: loop.Note, Text: "mail and kills of other hosts are noticed late: " + err.Error()})
	}
}
