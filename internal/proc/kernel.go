// Package proc is the kernel: it runs live agents. An agent that has jobs has one
// goroutine, which ends with the last of them; of an idle one only its conversation stays
// in memory, for a while; all others cost nothing.
//
// # Promises
//
//   - One turn of an agent at a time, under its lease. The lease is taken when a
//     turn begins, renewed while it lasts and given back at its end; so an idle
//     agent can be used by any process. Whoever finds it lost stops at once,
//     and so does, before it runs out, who cannot renew it because the store is away.
//   - A connection to the store that is lost does not end a turn: what was received is
//     written on the next one under the same lease, or the turn ends as interrupted.
//   - A turn begins with a history that every model accepts: what a crash left
//     open is closed first, with `interrupted` entries. Nothing is run again that
//     may have happened.
//   - A fork waits for the tools of its agent (the barrier), never for its model,
//     and never comes between a call and its result.
//   - Kill returns when nothing of the victims runs: the registry is told first, in
//     one transaction, so that no victim writes or forks any more; then model calls
//     and tools are ended, children first.
//   - A panic ends one attempt of one turn. It is tried again, three times in a
//     minute at most; then the turn has failed.
//   - A child that was forked by a tool is a task: when its turn ends, well or not,
//     a letter tells its parent.
//   - What happens is published after it is durable (see package loop).
package proc

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/agent"
	"ramet/internal/bus"
	"ramet/internal/fault"
	"ramet/internal/gateway"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/ledger"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/mail"
	"ramet/internal/registry"
	"ramet/internal/state"
	"ramet/internal/tool"
	acts "ramet/internal/tool/process"
)

// Store is what the kernel needs of a workspace.
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

// Options is what a kernel depends on. Functions without a comment about nil must
// be there.
type Options struct {
	Store Store
	// Owner is the name under which leases are held; no two kernels share one.
	Owner string
	// Model opens the model of an agent's turn; asked is zero where nobody asked for
	// one.
	Model func(a agent.Agent, asked llm.Ref) (Model, error)
	// Effort is how hard models are to think where the agent was not told; empty: as
	// their table says.
	Effort llm.Effort
	// Search lets models search the web at their vendors.
	Search bool
	// Tools are the tools that act on the machine, for an agent and its folder.
	Tools func(a agent.Agent) (tool.Box, error)
	// Offer chooses among all that an agent would have, the tools that act on agents
	// included. nil: it has them all.
	Offer func(a agent.Agent, all tool.Box) tool.Box
	// System is what stands before the context.
	System func(a agent.Agent) ([]llm.Message, error)
	// SystemFor is System for an agent with these tools, and what people should know of it when a
	// turn begins; nil: System is asked.
	SystemFor func(a agent.Agent, tools tool.Box) (words []llm.Message, note string, err error)
	// Role finds the definition of an agent; nil: there are none.
	Role func(name string) (acts.Role, error)
	// Roles says whether any agent is defined; nil: none is.
	Roles func() bool
	// Driver finds a program that drives agents, by name; nil: there are none.
	Driver func(name string) (llm.Ref, error)
	// Drivers are the names of those that are installed; nil: there are none.
	Drivers func() []string
	// Joins is what the calls of an agent bring into its conversation; nil: nothing.
	Joins func(a agent.Agent) loop.Join
	// Hooks are the programs that are told what an agent does; nil, of all or of one: there
	// are none.
	Hooks func(a agent.Agent) loop.Hooks
	// Facts is what an agent should know of the place and the moment when its turn begins;
	// with what it should know of itself it is written once, in front of what the user says,
	// where it differs from what it was told last. nil or empty: nothing. What takes long is
	// looked at beside the turn, which begins meanwhile, and is waited for by what Facts returns.
	Facts func(ctx context.Context, a agent.Agent) Place
	// Told is what people should know when a turn of another program begins; nil or empty: nothing.
	Told  func(a agent.Agent) string
	Guard loop.Guard
	// Background are the commands that an agent left running, each on a line, and Runners the agents
	// that left some; Abandon ends them, and returns when nothing of them runs. nil: there are none.
	Background func(a id.Agent) []string
	Runners    func() []id.Agent
	Abandon    func(a id.Agent)
	// Worktree gives a child a git worktree; undo takes it away.
	Worktree func(ctx context.Context, parent agent.Agent, child id.Agent, name string) (at acts.Place, undo func(), err error)
	// Trees are the worktrees in which agents work; nil: there are none.
	Trees acts.Trees
	// Gone reports whether the process which held leases under this name is known to be
	// dead; false if unknown. Only agent.OwnerGone draws conclusions from it.
	Gone func(owner string) bool
	// Tell tells the other kernels of the workspace on this machine, and returns
	// when they have acted upon it.
	Tell func(context.Context, ...registry.Ring)
	// There asks another kernel of this machine what its agents do; nil: none can be asked.
	There func(ctx context.Context, owner string) (map[id.Agent]state.State, bool)
	// Book is the ledger of tasks; nil: none is kept. BookOwner is this process in it.
	// TaskTime is how long a task may take, for the ledger; 0: as long as it takes.
	Book      ledger.Book
	BookOwner *ledger.Owner
	TaskTime  time.Duration
	Clean     func(string) string // see loop.Turn; nil: nothing to hide
	Limits    loop.Limits
	Attended  bool // a person at a terminal sees what this kernel does
	// Files takes the states of the folder that an agent works in; nil, of all or of one:
	// none are taken.
	Files func(a agent.Agent) loop.Files
	// MostAgents is how many agents that models forked may work or wait at a time below
	// one prompt of a person, MostUnread how many letters may wait in a mailbox. 0: any
	// number.
	MostAgents, MostUnread int
	// Wake says whose letters begin a turn of an agent that does nothing; empty:
	// WakeFamily. MostWakes is how often that may happen to one agent below one prompt of a person; 0:
	// any number. Sleeps are agents that nobody wakes; nil: none.
	Wake      Wake
	MostWakes int
	Sleeps    func(agent.Agent) bool
	// Vendors are other addresses of vendors, for programs that go through the gateway; nil:
	// the usual ones. MCP answers what an agent's program asks of ramet; nil: nothing does.
	Vendors map[string]*url.URL
	MCP     func(w http.ResponseWriter, r *http.Request, by id.Agent)
	// Clamp lowers calls that go through the gateway to what is left of a budget, rather than refuse
	// them. Bodies takes the secrets out of what is sent and answered there, which is then kept;
	// nil: it is not.
	Clamp  bool
	Bodies func(string) string
	// Resident says that the kernel stays: what others left interrupted may begin turns
	// here.
	Resident bool
	// Lease is how long a lease lasts after its last renewal. 0: LeaseTTL.
	Lease time.Duration
	// Pulse is how often leases are renewed and the agents of dead kernels are looked for.
	// 0: three times a lease.
	Pulse time.Duration
	// Now returns the time by which leases that cannot be renewed end. nil: time.Now.
	Now func() time.Time
	// Rest is how long an agent that nobody asks anything is kept in memory.
	// 0: ten minutes.
	Rest time.Duration
}

// LeaseTTL is how long a lease lasts, as the spec has it.
const LeaseTTL = 15 * time.Second

// Kernel runs agents. All methods are safe for concurrent use.
type Kernel struct {
	Options
	Events bus.Bus[loop.Event]

	ctx      context.Context // ends when the kernel is stopped
	cancel   context.CancelCauseFunc
	work     sync.WaitGroup // every goroutine of the kernel
	memory   memory
	drafts   drafts
	windows  windows
	reserver *gateway.Reserver
	gate     gate

	mu   sync.Mutex            // guards what follows, and each process's mutable fields
	live map[id.Agent]*process // that have work, or are about to
	idle map[id.Agent]*kept    // that had; none is in both
	// mending are the agents whose histories are being closed after another kernel;
	// a channel is closed when that is done.
	mending map[id.Agent]chan struct{}
	keeps   map[id.Agent]agent.Lease // see Keep

	renewed   time.Time // when the leases were renewed last
	unrenewed bool      // the last renewal failed

	announced map[id.Agent]int64 // the newest letter for which a turn of its receiver was begun
	tickets   tickets
	debts     debts
	waiters   map[*process]bool // in the middle of a wait

	jobs  counter // given and not done
	turns atomic.Int64
	owes  atomic.Bool              // see Owes
	root  atomic.Pointer[id.Agent] // see zero

	forgot atomic.Int64 // how often Forget was called
}

// lost says whether an error means that the agent is no longer ours.
func lost(err error) bool {
	return fault.Is(err, fault.Fenced) || fault.Is(err, fault.DeadAgent) || errors.Is(err, errKilled.Get())
}

func (k *Kernel) trouble(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		k.Events.Publish(loop.Event{Type: loop.Note, Text: what + ": " + err.Error()})
	}
}

// lookup finds what an agent works with; nil: it is idle.
func (k *Kernel) lookup(a id.Agent) *process {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live[a]
}

// Wake says whose letters begin a turn of an agent that does nothing.
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
	of  *process
}

// debts are the reports that agents of this kernel owe: to whom, by whom, and whether the
// report is to wake. Guarded by the kernel's mutex.
type debts map[id.Agent]map[id.Agent]bool

// windows are what turns learnt of models, for those that come after them.
type windows struct {
	mu    sync.Mutex
	known map[llm.Ref]*loop.Window
}
