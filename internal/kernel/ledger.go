package kernel

import (
	"context"
	"errors"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/ledger"
	"ramet/internal/model/llm"
)

// enter records a task in the ledger before it starts.
func (p *agentProcess) enter(ctx context.Context, a agent.Agent, j *job) error {
	if p.kernel.Book == nil || !j.task || j.entered {
		return nil
	}
	asked, _ := p.talk.Newest(llm.User)
	start := ledger.Start{ID: string(a.ID), Type: "agent", Group: a.Label(), Description: text.Line(asked.Words(), 200),
		Owner: p.kernel.BookOwner, Minutes: p.kernel.TaskTime.Minutes()}
	if up, err := p.kernel.Store.Agent(ctx, a.Parent); err == nil {
		start.Plan = up.Label()
	}
	_, err := p.kernel.Book.Spawn(ctx, start)
	if fault.Is(err, fault.Conflict) && (j.woken || j.prompt.Again) {
		j.unbooked, err = true, nil // there it stays interrupted: only a new agent resumes it
	}
	return err
}

// close records how a task ended. What cannot be recorded is told of: the history
// says it anyway.
func (p *agentProcess) close(ctx context.Context, j *job, err error) {
	if p.kernel.Book == nil || !j.task || j.unbooked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	how, why := ledger.Failed, string(fault.CodeOf(err))
	switch {
	case err == nil:
		how, why = ledger.Completed, ""
	case fault.Is(err, fault.Cancelled) || fault.Is(err, fault.Interrupted) || fault.Is(err, fault.Fenced):
		how, why = ledger.Interrupted, err.Error()
	case fault.Is(err, fault.TimedOut):
		how, why = ledger.Timeout, err.Error()
	case errors.Is(err, errKilled()):
		why = "killed"
	}
	if _, err := p.kernel.Book.Move(ctx, string(p.id), how, why); err != nil {
		p.kernel.note(p.id, "its end is not in the ledger: "+err.Error())
	}
}

// interrupted records that a kernel died with an agent at work. Most were no tasks:
// the ledger does not know them.
func (k *Kernel) interrupted(ctx context.Context, a id.Agent) error {
	if k.Book == nil {
		return nil
	}
	_, err := k.Book.Move(ctx, string(a), ledger.Interrupted, "the process that ran it ended")
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.IllegalTransition) {
		return nil
	}
	return err
}
