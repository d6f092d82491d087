package kernel

import (
	"context"
	"encoding/json"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// agentProcess is an agent that somebody works with, or is about to: while it has jobs, one goroutine carries
// them out.
type agentProcess struct {
	kernel *Kernel
	id     id.Agent
	inbox  chan *job
	// barrier is held by a turn while it acts, and by a fork: it has room for one.
	barrier chan struct{}
	mail    chan struct{} // has room for one: there may be mail
	killed  chan struct{} // closed when the agent is dead

	// Guarded by the kernel's mutex.
	doing   doing
	lease   *agent.Lease // while it holds one
	leased  time.Time    // since when
	visits  int          // of those who are about to use it
	serves  bool         // a goroutine carries out its jobs
	late    bool         // its turn was stopped, because nobody could renew the lease
	tasked  bool         // what it does is a task
	family  *counter     // of what it does
	pending int          // jobs that were given and are not done
	mourned bool         // it was killed, and whoever waits for its report is to be told
	exits   bool         // it says its last word
	called  bool         // one of them looks for mail
	awaited bool         // and finds some, as far as is known
	asked   report       // what a report asks of that one
	stop    context.CancelCauseFunc
	ended   chan struct{} // closed when the turn that stop ends is over
	box     tool.Box      // what its turn has; nil: there is none

	// Owned by the goroutine.
	*kept
	ahead  []*job // taken out of the inbox, and to be done before what is in it
	joined []*job // what was said during the turn, and ends with it
	cutOff bool   // its last turn could not reach the store
}

// job is one piece of work in an inbox.
type job struct {
	ctx          context.Context
	number       int64 // counts the kernel's jobs
	prompt       Prompt
	task         bool          // a letter tells the parent how it ended
	reply        id.Agent      // who gets that letter; empty: the nearest living ancestor
	family       *counter      // the tasks that come from one prompt
	woken        bool          // a letter begins it, if one still waits
	reported     bool          // and that may be the report of a child
	looks        bool          // nobody knows of such a letter yet
	letters      []mail.Letter // which ones
	of           *agentProcess // whose it is, while it is pending
	within       bool          // the family counts it
	owed, debtor id.Agent      // who waits for the report, while somebody does, and of whom
	facts        func() string // see Options.Facts; nil: a program knows the place itself
	unbooked     bool          // the ledger does not follow it
	began        time.Time
	entered      bool           // the ledger has it already
	by           *history.Actor // the person who asks for it; nil: nobody
	only         func(context.Context, loop.Turn, *loop.Conversation) error
	foreign      func(context.Context, loop.Turn, *loop.Conversation) (loop.Outcome, error) // nil: ramet's own loop
	done         chan struct{}                                                              // closed when result is set
	result       result
}

type result struct {
	outcome loop.Outcome
	err     error
}

// Prompt asks for a turn.
type Prompt struct {
	Text   string         // what the user says; empty: go on with what is there
	Files  []history.Part // images and documents that go with the text
	Model  llm.Ref
	Effort llm.Effort // how hard the model is to think from now on; empty: as before
	// Schema is a JSON Schema that the last word of the turn must fit; empty: anything.
	Schema json.RawMessage `json:",omitempty"`
	Search bool            // the model may search the web at its vendor in this turn
	Fresh  bool            // behind a clear
	Budget *history.Budget
	Task   bool   // it is one, and the ledger has it: a letter tells the parent how it ended
	Again  bool   // what was interrupted goes on: a task is one again
	Leaves bool   // children go on without it: it need not wait for them
	Ticket string // by which it can be taken back (Stop); empty: it cannot
	// Environment comes from the client that asks; nil: the agent has it from its parent, or has the kernel's own.
	Environment *Environment `json:"-"`
	Terms       *Terms       `json:"-"` // of the command that asks; nil: none
	// Last, if set, ends the agent and its subtree with the turn, and returns the reason; err is the turn's error. Only a
	// caller that runs the turn in its own process can set it.
	Last func(err error) string `json:"-"`
	// Held is since when this kernel has the lease, by the agent's birth (Bear); zero: it is
	// yet to be acquired.
	Held time.Time `json:"-"`
}

// doing is the activity of a process as its events report it. Guarded by the kernel's mutex.
type doing struct {
	now       state.State // zero: nothing
	calls     []open      // of tools that run
	asking    int         // questions that are open
	stopping  bool
	elsewhere bool        // it waits for a process that holds the agent
	shown     state.State // what was last told
}

func (p *agentProcess) ring() {
	select {
	case p.mail <- struct{}{}:
	default:
	}
}

// open is a call that runs.
type open struct{ id, tool string }

// report selects what a report wants from a job in an inbox, which may be one that looks for other mail.
type report struct{ came, task bool }

// stack is the stack trace of a panicked turn, for readers of events.
type stack []byte

func (s stack) Error() string { return string(s) }

// restarts counts how often a process broke lately.
type restarts []time.Time

// allow reports whether another try is allowed.
func (r *restarts) allow(now time.Time) bool {
	kept := (*r)[:0]
	for _, at := range *r {
		if now.Sub(at) < restartWindow {
			kept = append(kept, at)
		}
	}
	*r = append(kept, now)
	return len(*r) <= maxRestarts
}

const (
	maxRestarts   = 3
	restartWindow = time.Minute
)
