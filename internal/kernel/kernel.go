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
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/driver/gateway"
	acts "ramet/internal/kernel/process"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
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
	Events loop.EventBus

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

// Options holds the dependencies of a kernel, grouped by their consumer. Functions must be set unless their comment
// defines nil.
type Options struct {
	Store Store
	// Owner is the name under which leases are held; no two kernels share one.
	Owner string
	Parts
	// Assemble makes the parts where they need the kernel, before anything runs. nil: Parts is
	// complete.
	Assemble func(*Kernel) Parts
	Peers
	Tasks
	Mail
	Gateway
	Timing

	// Lent is called with each environment that a client lends and none lent before; nil: no one is told.
	Lent func(*Environment)

	Limits   loop.Limits
	Clean    func(string) string // see loop.Turn; nil: nothing to hide
	Attended bool                // a person at a terminal sees what this kernel does
	// Resident marks a kernel that stays running: it may begin turns that others left interrupted.
	Resident bool
}

// Parts builds turns.
type Parts struct {
	Models
	Toolbox
	Prompts
	Children
	Commands
}

// Models opens the models of turns.
type Models struct {
	// Model opens the model of an agent's turn; asked is zero if none was asked for.
	Model func(a agent.Agent, asked llm.Ref) (Model, error)
	// ModelIn is Model for a client of an environment that asks for no turn.
	ModelIn func(a agent.Agent, asked llm.Ref, e *Environment) (Model, error)
	// LastModel returns the model with which an agent continues that a letter wakes, where neither it nor a setting
	// names one: the model that it used last. Zero: Model chooses. nil: Model chooses for all.
	LastModel func(a agent.Agent) llm.Ref
	// Effort is the reasoning effort of agents without one of their own; empty for the model's default.
	Effort llm.Effort
	// Search lets models search the web at their vendors.
	Search bool
}

// Toolbox makes the tools of agents, and decides about their calls.
type Toolbox struct {
	// Tools returns the tools that act on the machine, for an agent and its folder.
	Tools func(a agent.Agent) (tool.Box, error)
	// Offer chooses among all that an agent would have, the tools that act on agents
	// included. nil: it has them all.
	Offer func(a agent.Agent, all tool.Box) tool.Box
	Guard loop.Guard
	// Hooks returns the programs that are told what an agent does; nil, of all or of one: there
	// are none.
	Hooks func(a agent.Agent) loop.Hooks
	// Files takes the states of the folder that an agent works in; nil, of all or of one:
	// none are taken.
	Files func(a agent.Agent) loop.Files
}

// Prompts returns the texts that agents receive besides their conversation.
type Prompts struct {
	// System returns what stands before the context of an agent with these tools, and what people should know of it when
	// a turn begins.
	System func(a agent.Agent, tools tool.Box) (words []llm.Message, note string, err error)
	// Facts returns what an agent should know of its folder and the time when its turn begins. Together with the agent's
	// identity it is written once, before the prompt, if it changed. nil or empty: nothing. Slow checks run while the turn
	// starts; the returned function waits for them.
	Facts func(ctx context.Context, a agent.Agent) Place
	// Joins returns the messages that the calls of an agent add to its conversation; nil: none.
	Joins func(a agent.Agent) loop.Join
}

// Children configures the children that agents can fork.
type Children struct {
	// Role finds the definition of an agent; nil: there are none.
	Role func(name string) (acts.Role, error)
	// Roles reports whether any agent is defined; nil: none is.
	Roles func() bool
	// Driver finds a program that drives agents, by name; nil: there are none.
	Driver func(name string) (llm.Ref, error)
	// Drivers returns the names of those that are installed; nil: there are none.
	Drivers func() []string
	// Worktree gives a child a git worktree; undo takes it away.
	Worktree func(ctx context.Context, parent agent.Agent, child id.Agent, name string) (at acts.Place, undo func(), err error)
	// Trees are the worktrees in which agents work; nil: there are none.
	Trees acts.Trees
	// MostAgents limits the working or waiting agents that models forked below one prompt of a person. 0 is no limit.
	MostAgents int
}

// Commands configures background commands of agents.
type Commands struct {
	// Background returns the commands of an agent, each on a line; nil: there are none.
	Background func(a id.Agent) []string
	// Runners returns the agents that left some; nil: none did.
	Runners func() []id.Agent
	// Abandon ends those of an agent, and returns when nothing of them runs; nil: there are none.
	Abandon func(a id.Agent)
}

// Peers reaches the other kernels of the workspace on this machine.
type Peers struct {
	// Gone reports whether the process which held leases under this name is known to be
	// dead; false if unknown. Only agent.OwnerGone draws conclusions from it.
	Gone func(owner string) bool
	// Tell notifies the other kernels, and returns when they have acted upon it.
	Tell func(context.Context, ...registry.Ring)
	// Answers asks the kernel of that name whether it is there; LEASED: it is of another machine, or does not answer.
	// nil: no kernel is waited for.
	Answers func(ctx context.Context, owner string) error
	// There asks another kernel what its agents do; nil: none can be asked.
	There func(ctx context.Context, owner string) (map[id.Agent]state.State, bool)
}

// Tasks configures the ledger of tasks.
type Tasks struct {
	Book      ledger.Book   // nil: none is kept
	BookOwner *ledger.Owner // this process in it
	TaskTime  time.Duration // how long a task may take; 0: as long as it takes
}

// Mail bounds mailboxes and what letters set off.
type Mail struct {
	// MostUnread limits the unread messages in a mailbox. 0 is no limit.
	MostUnread int
	// Wake selects whose mail begins a turn of an idle agent; empty: WakeFamily.
	Wake Wake
	// MostWakes limits such turns of one agent below one prompt of a person; 0 is no limit.
	MostWakes int
	// Sleeps reports whether nothing wakes an agent; nil: none sleeps.
	Sleeps func(agent.Agent) bool
}

// Gateway connects programs that drive agents to their vendors and to ramet.
type Gateway struct {
	Vendors map[string]*url.URL // other addresses of vendors; nil: the usual ones
	// MCP answers what an agent's program asks of ramet; nil: nothing does.
	MCP func(w http.ResponseWriter, r *http.Request, by id.Agent)
	// Clamp lowers calls to what is left of a budget, rather than refuse them.
	Clamp bool
	// Bodies takes the secrets out of what is sent and answered, which is then kept; nil: it is not.
	Bodies func(string) string
}

// Timing sets the durations of leases and idle agents.
type Timing struct {
	// Lease is the duration of a lease after its last renewal. 0: LeaseTTL.
	Lease time.Duration
	// Pulse is the interval for renewing leases and looking for agents of dead kernels. 0: a third of a lease.
	Pulse time.Duration
	// Now returns the time by which leases that cannot be renewed end. nil: time.Now.
	Now func() time.Time
	// Rest is the time for which an idle agent stays in memory. 0: ten minutes.
	Rest time.Duration
}
