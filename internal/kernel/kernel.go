// Package kernel runs live agents. An agent with work has one goroutine, which ends when the work does; of
// an idle agent only its conversation stays in memory, for a while; all others cost nothing.
//
//   - One turn of an agent at a time, under its lease. The lease is acquired when a turn begins, renewed
//     while it lasts and released at its end, so that any process can use an idle agent. A turn that
//     lost its lease stops at once, and one that cannot renew it because the store is unreachable stops
//     before it expires.
//   - A lost connection to the store does not end a turn: what was received is written on the next
//     connection under the same lease, or the turn ends as interrupted.
//   - A turn begins with a history that every model accepts: what a crash left open is closed first,
//     with `interrupted` entries. Nothing that may have happened is run again.
//   - A fork waits for the tools of its agent (the barrier), never for its model, and never comes
//     between a call and its result.
//   - Kill returns when nothing of the victims runs: the registry marks them first, in one
//     transaction, so that none of them writes or forks any more; then model calls and tools are ended,
//     children first.
//   - A panic ends one attempt of one turn. It is retried at most three times a minute; then the
//     turn has failed.
//   - A child that was forked by a tool is a task: when its turn ends, a mail reports to its parent.
//   - Events are published after they are durable (see package loop).
package kernel

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/bus"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/driver/gateway"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// Store is the part of a workspace that the kernel uses.
type Store interface {
	agent.Directory
	agent.Leases
	history.Log
	history.Viewer
	mail.Boxes
	registry.Registry
	registry.Replies
	registry.Budgets
	registry.Bell
	state.Store
}

// Model is a model that can be asked.
type Model struct {
	Ref      llm.Ref
	Info     llm.Model
	Provider llm.Provider
	Others   []Model // that take over, in this order, when its vendor is down
	// Foreign is another program that carries out the turns instead; nil: ramet's own loop.
	Foreign Foreign
}

// LeaseTTL is the duration of a lease, as specified.
const LeaseTTL = 15 * time.Second

// Kernel runs agents. All methods are safe for concurrent use.
type Kernel struct {
	Options
	Events bus.Bus[loop.Event]

	ctx          context.Context // ends when the kernel is stopped
	cancel       context.CancelCauseFunc
	work         sync.WaitGroup // every goroutine of the kernel
	memory       memory
	drafts       drafts
	environments environments
	windows      windows
	reserver     *gateway.Reserver
	gate         gate

	mu   sync.Mutex                 // guards what follows, and each process's mutable fields
	live map[id.Agent]*agentProcess // that have work, or are about to
	idle map[id.Agent]*kept         // that had; none is in both
	// mending are the agents whose histories are being closed after another kernel;
	// a channel is closed when that is done.
	mending map[id.Agent]chan struct{}
	keeps   map[id.Agent]agent.Lease // see Keep

	renewed   time.Time // when the leases were renewed last
	unrenewed bool      // the last renewal failed

	announced map[id.Agent]int64 // the newest letter for which a turn of its receiver was begun
	tickets   tickets
	debts     debts
	waiters   map[*agentProcess]bool // in the middle of a wait

	jobs  counter // given and not done
	turns atomic.Int64
	owes  atomic.Bool              // see Owes
	root  atomic.Pointer[id.Agent] // see zero

	forgot atomic.Int64 // how often Forget was called
}

// lost reports whether an error means that we lost the agent's lease.
func lost(err error) bool {
	return fault.Is(err, fault.Fenced) || fault.Is(err, fault.DeadAgent) || errors.Is(err, errKilled())
}

func (k *Kernel) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		k.Events.Publish(loop.Event{Type: loop.Note, Text: what + ": " + err.Error()})
	}
}

// every calls do at an interval until the kernel stops.
func (k *Kernel) every(interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-k.ctx.Done():
			return
		}
	}
}

// lookup finds what an agent works with; nil: it is idle.
func (k *Kernel) lookup(a id.Agent) *agentProcess {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live[a]
}

// Wake selects whose mail begins a turn of an idle agent.
type Wake string

// The user's letters do in any case but the last.
const (
	WakeFamily Wake = "family" // those of its ancestors
	WakeAll    Wake = "all"    // those of every agent
	WakeNever  Wake = "never"  // nobody's
)

// tickets are the prompts that can be taken back. Guarded by the kernel's mutex.
type tickets struct {
	waiting map[string]*waiting
	revoked map[string]time.Time // came before their prompts
}

// waiting is a prompt that was not said yet.
type waiting struct {
	job *job
	of  *agentProcess
}

// debts are the reports that agents of this kernel owe: to whom, by whom, and whether the
// report is to wake. Guarded by the kernel's mutex.
type debts map[id.Agent]map[id.Agent]bool

// windows caches the context windows that turns learned, for later turns.
type windows struct {
	mu    sync.Mutex
	known map[llm.Ref]*loop.Window
}

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
	k.mu.Lock() // a caller that starts a goroutine looks under it whether it may
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
