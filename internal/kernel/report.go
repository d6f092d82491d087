package kernel

import (
	"context"
	"errors"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/turn/loop"
)

// report tells whoever asked for a task how it ended; the facts that we know stand at its
// end. The agent's lease is still held.
func (p *agentProcess) report(ctx context.Context, a agent.Agent, j *job, o loop.Outcome, err error) {
	if !j.task || o.Ended || errors.Is(err, errKilled()) {
		return // it said so itself, or who killed it does
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err != nil && !o.Began {
		p.regret(ctx, err)
	}
	facts := p.facts(ctx, a, j, o, err)
	p.heard(ctx, j)
	// Whoever reads the letter finds an agent that has ended: merge asks.
	p.becomes(func(d *doing) { *d = doing{now: state.After(err), shown: d.shown} })
	told, failed := p.tell(ctx, a, j, o, err, facts)
	if failed != nil && !lost(failed) {
		p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: "the parent could not be notified: " + failed.Error()})
	}
	if failed == nil && told != "" {
		p.kernel.askedFor(ctx, told, p.id, j.family)
	}
}

// tell writes the letter: in the agent's own words, or where it has none, in ours.
func (p *agentProcess) tell(ctx context.Context, a agent.Agent, j *job, o loop.Outcome, err error, facts string) (id.Agent, error) {
	k := p.kernel
	switch {
	case fault.Is(err, fault.Cancelled) || fault.Is(err, fault.Interrupted):
		what := "was interrupted."
		if o.Text != "" {
			what += " Its last words were:\n" + o.Text
		}
		return k.tellOf(ctx, a, j.reply, ended(what, facts))
	case err != nil:
		return k.tellOf(ctx, a, j.reply, ended("failed: error["+string(fault.CodeOf(err))+"]: "+err.Error(), facts))
	case o.Text == "":
		return k.tellOf(ctx, a, j.reply, ended("is done, and has nothing to say.", facts))
	}
	return k.notify(ctx, a, j.reply, k.claim(p.id), ended(o.Text, facts), state.Well)
}

// ended is a letter with the facts at its end, whatever of it must be cut.
func ended(what, facts string) string {
	if facts == "" {
		return cut(what, 0)
	}
	return cut(what, len(facts)+2) + "\n\n" + facts
}

// tellOf sends a notice of the kernel about an agent, and says to whom.
func (k *Kernel) tellOf(ctx context.Context, a agent.Agent, reply id.Agent, what string) (id.Agent, error) {
	up, ok, err := k.addressee(ctx, a, reply)
	if err != nil || !ok {
		return "", err
	}
	_, err = k.send(ctx, registry.Send{From: id.Kernel, About: a.ID, To: up.ID, Body: cut("Agent "+a.Label()+" ("+string(a.ID)+") "+what, 0)}, nil)
	return up.ID, err
}
