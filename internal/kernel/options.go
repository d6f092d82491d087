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
	// Model opens the model of an agent's turn; asked is zero where nobody asked for
	// one.
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
