package kernel

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	acts "ramet/internal/kernel/process"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// Options is what a kernel depends on, by what uses it. Functions must be set unless their comment
// says what nil means.
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
	// Resident says that the kernel stays: what others left interrupted may begin turns
	// here.
	Resident bool
}

// Parts is what turns are made of.
type Parts struct {
	Models
	Toolbox
	Prompts
	Children
	Commands
}

// Models opens the models of turns.
type Models struct {
	// Model opens the model of an agent's turn; asked is zero where nobody asked for
	// one.
	Model func(a agent.Agent, asked llm.Ref) (Model, error)
	// ModelIn is Model for a client of an environment that asks for no turn.
	ModelIn func(a agent.Agent, asked llm.Ref, e *Environment) (Model, error)
	// LastModel returns the model with which an agent continues that a letter wakes, where neither it nor a setting
	// names one: the model that it used last. Zero: Model chooses. nil: Model chooses for all.
	LastModel func(a agent.Agent) llm.Ref
	// Effort is how hard models are to think where the agent was not told; empty: as
	// their table says.
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

// Prompts is what agents are told besides their conversation.
type Prompts struct {
	// System returns what stands before the context.
	System func(a agent.Agent) ([]llm.Message, error)
	// SystemFor is System for an agent with these tools, and what people should know of it when a
	// turn begins; nil: System is asked.
	SystemFor func(a agent.Agent, tools tool.Box) (words []llm.Message, note string, err error)
	// Facts is what an agent should know of the place and the moment when its turn begins;
	// with what it should know of itself it is written once, in front of what the user says,
	// where it differs from what it was told last. nil or empty: nothing. What takes long is
	// looked at beside the turn, which begins meanwhile, and is waited for by what Facts returns.
	Facts func(ctx context.Context, a agent.Agent) Place
	// Told is what people should know when a turn of another program begins; nil or empty: nothing.
	Told func(a agent.Agent) string
	// Joins is what the calls of an agent bring into its conversation; nil: nothing.
	Joins func(a agent.Agent) loop.Join
}

// Children is what agents that fork can make.
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
	// MostAgents is how many agents that models forked may work or wait at a time below
	// one prompt of a person. 0: any number.
	MostAgents int
}

// Commands are what agents left running in the background.
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
	// There asks another kernel what its agents do; nil: none can be asked.
	There func(ctx context.Context, owner string) (map[id.Agent]state.State, bool)
}

// Tasks is how the ledger of tasks is kept.
type Tasks struct {
	Book      ledger.Book   // nil: none is kept
	BookOwner *ledger.Owner // this process in it
	TaskTime  time.Duration // how long a task may take; 0: as long as it takes
}

// Mail bounds mailboxes and what letters set off.
type Mail struct {
	// MostUnread is how many letters may wait in a mailbox. 0: any number.
	MostUnread int
	// Wake says whose letters begin a turn of an agent that does nothing; empty: WakeFamily.
	Wake Wake
	// MostWakes is how often that may happen to one agent below one prompt of a person; 0:
	// any number.
	MostWakes int
	// Sleeps reports whether nothing wakes an agent; nil: none sleeps.
	Sleeps func(agent.Agent) bool
}

// Gateway is how programs that drive agents reach their vendors and ramet.
type Gateway struct {
	Vendors map[string]*url.URL // other addresses of vendors; nil: the usual ones
	// MCP answers what an agent's program asks of ramet; nil: nothing does.
	MCP func(w http.ResponseWriter, r *http.Request, by id.Agent)
	// Clamp lowers calls to what is left of a budget, rather than refuse them.
	Clamp bool
	// Bodies takes the secrets out of what is sent and answered, which is then kept; nil: it is not.
	Bodies func(string) string
}

// Timing is how long leases and idle agents last.
type Timing struct {
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
