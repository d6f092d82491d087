package proc

import (
	"context"
	"errors"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/state"
)

// process is one live agent.
type process struct {
	kernel *Kernel
	id     id.Agent
	inbox  chan *job
	// barrier is held by a turn while it acts, and by a fork: it has room for one.
	barrier chan struct{}
	mail    chan struct{} // has room for one: there may be mail
	killed  chan struct{} // closed when the agent is dead

	// Guarded by the kernel's mutex.
	doing  doing
	lease  *agent.Lease // while it holds one
	tasked bool         // what it does is a task
	stop   context.CancelCauseFunc
	ended  chan struct{}      // closed when the turn that stop ends is over
	legacy *loop.Conversation // what a child inherits, until it is first needed

	// Owned by the goroutine.
	talk     *loop.Conversation
	forgot   int64 // Kernel.forgot when talk was made
	restarts restarts
}

// job is one piece of work in an inbox.
type job struct {
	ctx     context.Context
	number  int64 // counts the kernel's jobs
	prompt  Prompt
	task    bool           // a letter tells the parent how it ended
	family  *counter       // the tasks that come from one prompt
	entered bool           // the ledger has it already
	by      *history.Actor // the person who asks for it; nil: nobody
	only    func(context.Context, loop.Turn, *loop.Conversation) error
	done    chan struct{} // closed when result is set
	result  result
}

type result struct {
	outcome loop.Outcome
	err     error
}

// Prompt asks for a turn.
type Prompt struct {
	Text   string // what the user says; empty: go on with what is there
	Model  llm.Ref
	Fresh  bool // behind a clear
	Budget *history.Budget
	Task   bool   // it is one, and the ledger has it: a letter tells the parent how it ended
	Ticket string // by which it can be taken back (Stop); empty: it cannot
	// Last says that the agent ends with the turn, with everything below it, and for what
	// reason; err is how the turn ended. nil: it stays. Only who starts a turn in its own
	// process can ask for that.
	Last func(err error) string `json:"-"`
}

// inboxSize is how many jobs can wait before those who give them wait.
const inboxSize = 4

func newProcess(k *Kernel, a id.Agent) *process {
	return &process{kernel: k, id: a, inbox: make(chan *job, inboxSize), forgot: k.forgot.Load(), barrier: make(chan struct{}, 1),
		mail: make(chan struct{}, 1), killed: make(chan struct{})}
}

// serve carries out jobs until the agent is killed or the kernel stopped.
func (p *process) serve() {
	for {
		select {
		case j := <-p.inbox:
			p.do(j)
		case <-p.killed:
			p.refuse(errKilled)
			return
		case <-p.kernel.ctx.Done():
			p.refuse(errStopped)
			return
		}
	}
}

// refuse answers what is still waiting.
func (p *process) refuse(err error) {
	for {
		select {
		case j := <-p.inbox:
			if p.kernel.take(j) {
				p.over(j, loop.Outcome{}, err)
			}
		default:
			return
		}
	}
}

// over ends a job: it is told of, then its result is there.
func (p *process) over(j *job, o loop.Outcome, err error) {
	p.kernel.Events.Publish(loop.Event{Type: loop.TurnEnded, Agent: p.id, Turn: j.number, Outcome: &o, Err: err})
	j.finish(p.kernel, o, err)
}

func (j *job) finish(k *Kernel, o loop.Outcome, err error) {
	j.result = result{o, err}
	close(j.done)
	if j.task {
		j.family.done()
	}
	k.jobs.done()
}

// do carries out one job.
func (p *process) do(j *job) {
	if !p.kernel.take(j) {
		return
	}
	ctx, cancel := context.WithCancelCause(j.ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.kernel.ctx, func() { cancel(errStopped) })()
	ended := make(chan struct{})
	p.kernel.mu.Lock()
	p.stop, p.ended, p.tasked = cancel, ended, j.task
	p.kernel.mu.Unlock()
	p.becomes(func(d *doing) { d.now = state.State{Word: state.Working, Detail: state.Starts} })
	select {
	case <-p.killed: // between the inbox and here
		cancel(errKilled)
	default:
	}
	outcome, err := p.turn(ctx, j)
	if err != nil && ctx.Err() != nil {
		err = stopped(ctx, err)
	}
	p.kernel.mu.Lock()
	p.stop, p.ended, p.tasked, p.doing = nil, nil, false, doing{}
	p.kernel.mu.Unlock()
	p.kernel.Events.Publish(loop.Event{Type: loop.TurnEnded, Agent: p.id, Turn: j.number, Outcome: &outcome, Err: err})
	close(ended)
	j.finish(p.kernel, outcome, err)
	if len(p.inbox) == 0 && p.kernel.ctx.Err() == nil {
		p.settled(p.kernel.ctx)
	}
}

// stopped is the error of a turn whose context ended. What only says that it did
// gives way to why it did.
func stopped(ctx context.Context, err error) error {
	if f, told := fault.Of(err); told && f.Code != fault.Cancelled && f.Code != fault.Interrupted {
		return err
	}
	cause := context.Cause(ctx)
	switch f, told := fault.Of(cause); {
	case told && f.Code != fault.Cancelled:
		return cause
	case errors.Is(cause, context.DeadlineExceeded):
		return llm.Ended(ctx)
	}
	return err
}

// submit puts a job into an inbox.
func (k *Kernel) submit(a id.Agent, j *job) error {
	p, err := k.process(a)
	if err != nil {
		return err
	}
	j.done, j.number = make(chan struct{}), k.turns.Add(1)
	if j.family == nil {
		j.family = &counter{}
	}
	if j.task {
		j.family.add()
	}
	k.jobs.add()
	if !k.enlist(j, p) {
		j.finish(k, loop.Outcome{}, errWithdrawn)
		return errWithdrawn
	}
	select {
	case p.inbox <- j:
	case <-j.done: // taken back
		return errWithdrawn
	case <-p.killed:
		err = errKilled
	case <-j.ctx.Done():
		err = llm.Ended(j.ctx)
	case <-k.ctx.Done():
		err = errStopped
	}
	if err != nil {
		if k.take(j) {
			j.finish(k, loop.Outcome{}, err)
		}
		return err
	}
	// It may have ended between the check and the put; then nobody empties the
	// inbox but us.
	select {
	case <-p.killed:
		p.refuse(errKilled)
	case <-k.ctx.Done():
		p.refuse(errStopped)
	default:
	}
	return nil
}

// Turn is a turn that was asked for.
type Turn struct{ job *job }

// Exec asks for one turn of an agent. One that is under way is waited for. When
// ctx ends the turn is stopped; its history says so.
func (k *Kernel) Exec(ctx context.Context, a id.Agent, prompt Prompt) (*Turn, error) {
	j := &job{ctx: history.Unattended(ctx), prompt: prompt, task: prompt.Task, entered: prompt.Task, by: history.ActorOf(ctx)}
	return &Turn{j}, k.submit(a, j)
}

// ID is the number of the turn in its events.
func (t *Turn) ID() int64 { return t.job.number }

// Wait returns when the turn is over.
func (t *Turn) Wait() (loop.Outcome, error) {
	<-t.job.done // a turn ends soon after its context does
	r := t.job.result
	if r.err != nil && t.job.ctx.Err() != nil && (fault.Is(r.err, fault.Cancelled) || fault.Is(r.err, fault.Interrupted)) {
		return r.outcome, llm.Ended(t.job.ctx)
	}
	return r.outcome, r.err
}

// Tasks returns when all children that the turn forked, and theirs, have done
// their tasks.
func (t *Turn) Tasks(ctx context.Context) error { return t.job.family.wait(ctx) }

// Compact replaces the older part of an agent's context by a summary.
func (k *Kernel) Compact(ctx context.Context, a id.Agent, model llm.Ref) error {
	compact := func(ctx context.Context, t loop.Turn, c *loop.Conversation) error { return loop.Compact(ctx, t, c, 0) }
	j := &job{ctx: history.Unattended(ctx), prompt: Prompt{Model: model}, only: compact, by: history.ActorOf(ctx)}
	if err := k.submit(a, j); err != nil {
		return err
	}
	_, err := (&Turn{j}).Wait()
	return err
}

// task runs the turn of a child that a tool forked. Nobody waits for it; its
// parent gets a letter.
func (k *Kernel) task(a id.Agent, family *counter) error {
	return k.submit(a, &job{ctx: k.ctx, task: true, family: family})
}
