package kernel

import (
	"context"
	"encoding/json"
	"sync"
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

// over ends a job: it publishes the end, then the result.
func (p *agentProcess) over(j *job, o loop.Outcome, err error) {
	p.kernel.Events.Publish(loop.Event{Type: loop.TurnEnded, Agent: p.id, Turn: j.number, Outcome: &o, Err: err})
	j.finish(p.kernel, o, err)
}

func (j *job) finish(k *Kernel, o loop.Outcome, err error) {
	j.result = result{o, err}
	k.mu.Lock()
	k.settle(j)
	k.mu.Unlock()
	close(j.done)
	if j.within {
		j.family.done()
	}
	k.jobs.done()
	k.nudge()
}

// count makes a job one of those that are under way.
func (k *Kernel) count(p *agentProcess, j *job) {
	j.done, j.number = make(chan struct{}), k.turns.Add(1)
	if j.family == nil {
		j.family = &counter{attended: k.attended(j.by), of: p.id, terms: j.prompt.Terms}
	}
	if j.within = j.task || j.woken; j.within {
		j.family.add()
	}
	k.jobs.add()
	k.mu.Lock()
	defer k.mu.Unlock()
	p.pending++
	j.of = p
}

// settle takes a job out of those that are pending; the caller has the mutex.
func (k *Kernel) settle(j *job) {
	mourned := j.of != nil && j.of.mourned
	if j.of != nil {
		j.of.pending--
		j.of = nil
	}
	if !mourned && j.owed != "" {
		delete(k.debts[j.owed], j.debtor)
		if len(k.debts[j.owed]) == 0 {
			delete(k.debts, j.owed)
		}
	}
	j.owed = "" // of the mourned, until it is told
}

// counter counts what is under way. The zero counter counts nothing.
type counter struct {
	forking  sync.Mutex // held while children of the family are made
	attended bool       // a person sees what the family does
	of       id.Agent   // whose prompt it is, where it has terms
	terms    *Terms     // nil: none

	mu   sync.Mutex
	n    int
	woke map[id.Agent]int // how often letters began a turn of each
	// before returns the count of the process whose work continues here; nil if there is none.
	before func(id.Agent) int
	none   chan struct{} // closed when n falls to 0; made when it leaves 0
}

func (t *counter) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == 0 {
		t.none = make(chan struct{})
	}
	t.n++
}

// now returns the count.
func (t *counter) now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func (t *counter) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 {
		close(t.none)
	}
}

// wait returns when the count is 0 at some moment.
func (t *counter) wait(ctx context.Context) error {
	t.mu.Lock()
	n, none := t.n, t.none
	t.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return llm.Ended(ctx)
	}
}

// wakes reports whether mail may begin another turn of an agent.
func (t *counter) wakes(a id.Agent, most int) bool {
	if t == nil || most == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.woken(a) < most
}

// woken returns the number of turns of an agent that mail began; the caller holds the mutex.
func (t *counter) woken(a id.Agent) int {
	if t.woke == nil {
		t.woke = map[id.Agent]int{}
	}
	if _, known := t.woke[a]; !known && t.before != nil {
		t.woke[a] = t.before(a)
	}
	return t.woke[a]
}

// wake counts a turn of an agent that a letter begins, if it may.
func (t *counter) wake(a id.Agent, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.woken(a); most > 0 && n >= most {
		return false
	}
	t.woke[a]++
	return true
}

// What a person says to an agent that works joins the turn which is under way: it arrives behind
// the results of the running step, as the user's words. The caller that asked for it gets the outcome of
// that turn. What is more than words (another model, a budget, a new context), and what comes
// from programs, waits for the end of the turn.

// joins reports whether a job can join the turn of another.
func (j *job) joins(turn *job) bool {
	p := j.prompt
	person := j.by != nil && (j.by.Face == history.Terminal || j.by.Face == history.Page)
	same := p.Model == (llm.Ref{}) || p.Model == turn.prompt.Model
	return person && same && p.Text != "" && len(p.Files) == 0 && p.Effort == "" && !p.Fresh && p.Budget == nil && p.Last == nil &&
		!j.task && j.only == nil && turn.only == nil
}

// hear takes what was said meanwhile out of the inbox, in its order: as far as it can join the turn.
func (p *agentProcess) hear(ctx context.Context, a agent.Agent, turn *job) loop.Heard {
	var drafts []history.Draft
	var joined []*job
	for len(p.ahead) == 0 {
		j := p.received()
		if j == nil {
			break
		}
		said, err := history.Say(history.User, j.prompt.Text)
		if err != nil || !j.joins(turn) {
			p.ahead = append(p.ahead, j)
			break
		}
		if !p.kernel.take(j, nothing) {
			continue // taken back
		}
		added, err := p.submits(ctx, p.kernel.hooksOf(a), j)
		if err != nil {
			drafts = append(drafts, added...)
			p.over(j, loop.Outcome{}, err)
			continue
		}
		said.Meta.Actor = j.by
		drafts, joined = append(append(drafts, said), added...), append(joined, j)
	}
	return loop.Heard{Drafts: drafts, Written: func(err error) {
		if err != nil { // they were not said
			for _, j := range joined {
				p.over(j, loop.Outcome{}, err)
			}
			return
		}
		p.joined = append(p.joined, joined...)
	}}
}

// part ends the jobs that joined a turn, as it ended.
func (p *agentProcess) part(o loop.Outcome, err error) {
	o.Began = true
	for _, j := range p.joined {
		why := err
		if j.ctx.Err() != nil && err != nil {
			why = stopped(j.ctx, err)
		}
		p.over(j, o, why)
	}
	p.joined = nil
}
