package kernel

import (
	"context"
	"errors"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
)

// inboxSize limits the queued jobs before callers block.
const inboxSize = 4

func newProcess(k *Kernel, a id.Agent, was *kept) *agentProcess {
	if was == nil {
		was = &kept{forgot: k.forgot.Load()}
	}
	return &agentProcess{kernel: k, id: a, inbox: make(chan *job, inboxSize), barrier: make(chan struct{}, 1),
		mail: make(chan struct{}, 1), killed: make(chan struct{}), kept: was}
}

// serve carries out jobs until there are none. Its goroutine ends then, and with it the stack that turns
// need: it would be most of the memory of an agent that is idle.
func (p *agentProcess) serve() {
	for {
		select {
		case <-p.killed:
			p.refuse(errKilled())
		case <-p.kernel.ctx.Done():
			p.refuse(errStopped())
		default:
		}
		if j := p.next(); j != nil {
			p.do(j)
		} else if p.done() {
			return
		}
	}
}

// next is the next job; nil: none waits.
func (p *agentProcess) next() *job {
	if len(p.ahead) > 0 {
		j := p.ahead[0]
		p.ahead = p.ahead[1:]
		return j
	}
	return p.received()
}

// received returns a job that is in the inbox, or nil.
func (p *agentProcess) received() *job {
	select {
	case j := <-p.inbox:
		return j
	default:
		return nil
	}
}

// done marks the end of the agent's goroutine: a caller that queues a job after this starts another.
func (p *agentProcess) done() bool {
	p.kernel.mu.Lock()
	defer p.kernel.mu.Unlock()
	if len(p.inbox) > 0 {
		return false
	}
	p.serves = false
	p.idles()
	return true
}

// begins lets a goroutine carry out what is in the inbox, if none does; false: the kernel is stopped, and
// nobody will.
func (p *agentProcess) begins() bool {
	k := p.kernel
	k.mu.Lock()
	defer k.mu.Unlock()
	if !p.serves && k.ctx.Err() == nil {
		p.serves = true
		k.work.Go(p.serve)
	}
	return p.serves
}

// refuse answers what is still waiting.
func (p *agentProcess) refuse(err error) {
	for j := p.next(); j != nil; j = p.next() {
		if p.kernel.take(j, nothing) {
			p.over(j, loop.Outcome{}, err)
		}
	}
}

// do carries out one job.
func (p *agentProcess) do(j *job) {
	if j.woken && p.awaitKey(j) {
		return
	}
	if j.woken && !p.woken(j) { // no client withdraws such a job
		j.finish(p.kernel, loop.Outcome{}, nil)
		p.settled(p.kernel.ctx) // until now it was about to work
		return
	}
	ctx, cancel := context.WithCancelCause(j.ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	if !p.kernel.take(j, func() { p.stop, p.ended, p.tasked, p.family = cancel, ended, j.task, j.family }) {
		return
	}
	defer context.AfterFunc(p.kernel.ctx, func() { cancel(errStopped()) })()
	p.becomes(func(d *doing) { d.now = state.State{Word: state.Working, Detail: state.Starts} })
	select {
	case <-p.killed: // between the inbox and here
		cancel(errKilled())
	default:
	}
	p.cutOff = false
	outcome, err := p.turn(ctx, j)
	// The background commands of a task would have no owner, and stopping a turn stops what it started.
	if j.task || j.prompt.Last != nil || ctx.Err() != nil {
		p.kernel.abandon(p.id)
	}
	if err != nil && ctx.Err() != nil {
		err = stopped(ctx, err)
	}
	p.kernel.mu.Lock()
	p.stop, p.ended, p.tasked, p.family, p.doing = nil, nil, false, nil, doing{}
	p.kernel.settle(j)
	p.kernel.mu.Unlock()
	p.kernel.Events.Publish(loop.Event{Type: loop.TurnEnded, Agent: p.id, Turn: j.number, Outcome: &outcome, Err: err})
	close(ended)
	j.finish(p.kernel, outcome, err)
	p.part(outcome, err)
	if len(p.inbox) == 0 && len(p.ahead) == 0 && p.kernel.ctx.Err() == nil {
		p.settled(p.kernel.ctx)
	}
}

// stopped is the error of a turn whose context ended. What only says that it did
// gives way to why it did.
func stopped(ctx context.Context, err error) error {
	is, known := fault.Of(err)
	if known && is.Code != fault.Cancelled && is.Code != fault.Interrupted {
		return err
	}
	cause := context.Cause(ctx)
	switch f, told := fault.Of(cause); {
	case told && (f.Code != fault.Cancelled || !known || is.Code == fault.Interrupted):
		return cause
	case errors.Is(cause, context.DeadlineExceeded):
		return llm.Ended(ctx)
	}
	return err
}

// submit puts a job into an inbox.
func (k *Kernel) submit(a id.Agent, j *job) error {
	p, err := k.process(a)
	if err == nil {
		defer k.leave(p)
	}
	if j.done == nil {
		if err != nil {
			return err
		}
		k.count(p, j)
	}
	if err != nil {
		j.finish(k, loop.Outcome{}, err)
		return err
	}
	if !k.enlist(j, p) {
		j.finish(k, loop.Outcome{}, errWithdrawn())
		return errWithdrawn()
	}
	select {
	case p.inbox <- j:
	case <-j.done: // taken back
		return errWithdrawn()
	case <-p.killed:
		err = errKilled()
	case <-j.ctx.Done():
		err = llm.Ended(j.ctx)
	case <-k.ctx.Done():
		err = errStopped()
	}
	if err != nil {
		if k.take(j, nothing) {
			j.finish(k, loop.Outcome{}, err)
		}
		return err
	}
	if !p.begins() {
		p.refuse(errStopped())
	}
	return nil
}

// Turn is a turn that was asked for.
type Turn struct{ job *job }

// Exec asks for one turn of an agent. One that is under way is waited for. When
// ctx ends the turn is stopped; its history says so.
func (k *Kernel) Exec(ctx context.Context, a id.Agent, prompt Prompt) (*Turn, error) {
	k.lend(a, prompt.Environment)
	defer k.environments.tell() // a turn that waits for its key finds this prompt, and the key
	j := &job{ctx: history.Unattended(ctx), prompt: prompt, task: prompt.Task, entered: prompt.Task, by: history.ActorOf(ctx)}
	if prompt.Again {
		if err := k.again(ctx, a, j); err != nil {
			return &Turn{j}, err
		}
	}
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

// Compact replaces the older part of an agent's context by a summary. terms may be nil.
func (k *Kernel) Compact(ctx context.Context, a id.Agent, model llm.Ref, terms *Terms) error {
	compact := func(ctx context.Context, t loop.Turn, c *loop.Conversation) error { return loop.Compact(ctx, t, c, 0) }
	j := &job{ctx: history.Unattended(ctx), prompt: Prompt{Model: model, Terms: terms}, only: compact, by: history.ActorOf(ctx)}
	if err := k.submit(a, j); err != nil {
		return err
	}
	_, err := (&Turn{j}).Wait()
	return err
}

// task runs the turn of a child that a tool forked. Nobody waits for it; its
// parent gets a letter.
func (k *Kernel) task(child agent.Agent, then history.Then, family *counter) error {
	j := &job{ctx: k.ctx, task: true, family: family}
	k.owe(j, child.Parent, child.ID, then == history.ThenWake)
	return k.submit(child.ID, j)
}

// process finds what an agent works with, or makes it, and keeps it there until it is left.
func (k *Kernel) process(a id.Agent) (*agentProcess, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return nil, errStopped()
	}
	p := k.live[a]
	if p == nil {
		p = newProcess(k, a, k.idle[a])
		k.live[a] = p
		delete(k.idle, a)
	}
	p.visits++
	return p, nil
}
