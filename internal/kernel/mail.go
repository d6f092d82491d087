package kernel

import (
	"context"
	"strings"
	"unicode/utf8"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/turn/loop"
)

// Send puts a letter into a mailbox, under the sender's lease where we hold it,
// and wakes the receiver, whoever runs it.
func (k *Kernel) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	s.Most = k.MostUnread
	if !s.From.Keeps() {
		return k.send(ctx, s, nil)
	}
	var l mail.Letter
	err := k.insert(ctx, s.From, func(c agent.Claim) (err error) {
		s.Claim = c
		l, err = k.send(ctx, s, nil)
		return err
	})
	return l, err
}

// send is Send with the right to write. family is that of the turn that sends it.
func (k *Kernel) send(ctx context.Context, s registry.Send, family *counter) (mail.Letter, error) {
	l, err := k.Store.Send(ctx, s)
	if err != nil {
		return l, err
	}
	k.drafts.moved(s.From)
	l.Fate, l.Why = k.rouse(ctx, l, family)
	ring := registry.Ring{Agent: s.To, What: registry.RingMail}
	k.Ring(ctx, ring)
	k.Tell(ctx, ring)
	return l, nil
}

// Ring takes news of an agent: that it has mail, was forked by another host, is to stop, or is dead. An empty
// agent means that anything may have happened.
func (k *Kernel) Ring(ctx context.Context, r registry.Ring) {
	switch {
	case r.Agent == "":
		k.look(ctx)
		k.wake("")
	case r.What == registry.RingForked:
		k.drafts.moved(r.Agent)
	case r.What == registry.RingStop:
		k.Interrupt(ctx, Stop{Agent: r.Agent}) // whoever asked sees it at the lease
	case r.What == registry.RingKilled:
		k.lose(ctx, r.Agent)
		k.wake("") // a letter of the dead will never come
	default:
		k.Events.Publish(loop.Event{Type: loop.Mailed, Agent: r.Agent})
		k.wake(r.Agent)
		if family, busy := k.busy(r.Agent); busy { // it looks for mail again when its turn is over
			k.call(r.Agent, &job{ctx: k.ctx, woken: true, looks: true, family: family})
		}
	}
}

// wake lets an agent that waits for mail look again; all of them for "".
func (k *Kernel) wake(a id.Agent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a != "" {
		if p := k.live[a]; p != nil {
			p.ring()
		}
		return
	}
	for _, p := range k.live {
		p.ring()
	}
}

// regret writes into a history why the agent's task could not begin: nothing else there
// tells of it.
func (p *agentProcess) regret(ctx context.Context, why error) {
	note, err := history.Say(history.Note, "the task did not begin: "+text.Line(why.Error(), 400))
	if err != nil {
		return
	}
	note.Meta.Reason = state.Why(why)
	if _, err := p.kernel.Store.Append(ctx, p.id, p.kernel.claim(p.id), note); err != nil && !lost(err) {
		p.kernel.trouble(ctx, "record why "+p.id.Short()+" did not begin", err)
	}
}

// cut makes a text fit into a letter in which so many bytes follow it.
func cut(body string, follow int) string {
	const mark = "\n[cut]"
	body = strings.ToValidUTF8(strings.ReplaceAll(body, "\x00", ""), "\uFFFD")
	if len(body) <= mail.MaxBody-follow {
		return body
	}
	end := mail.MaxBody - follow - len(mark)
	for end > 0 && !utf8.RuneStart(body[end]) {
		end--
	}
	return body[:end] + mark
}

// notify sends a letter of an agent, and says to whom. Agent 0 has nobody to write to. why
// is how its task ended; empty: it reports nothing.
func (k *Kernel) notify(ctx context.Context, a agent.Agent, reply id.Agent, claim agent.Claim, body, why string) (id.Agent, error) {
	up, ok, err := k.addressee(ctx, a, reply)
	if err != nil || !ok {
		return "", err
	}
	_, err = k.send(ctx, registry.Send{From: a.ID, Claim: claim, To: up.ID, Body: body, Reason: why}, nil)
	return up.ID, err
}

// addressee returns the recipient of a task's report: the agent that asked for it, else the nearest living ancestor.
func (k *Kernel) addressee(ctx context.Context, a agent.Agent, reply id.Agent) (agent.Agent, bool, error) {
	if reply != "" {
		asked, err := k.Store.Agent(ctx, reply)
		if err != nil || asked.Status == agent.Running {
			return asked, err == nil, err
		}
	}
	return k.ancestor(ctx, a)
}

// ancestor is the nearest living one. Agent 0 has none.
func (k *Kernel) ancestor(ctx context.Context, a agent.Agent) (agent.Agent, bool, error) {
	for parent := a.Parent; parent != ""; {
		up, err := k.Store.Agent(ctx, parent)
		if err != nil || up.Status == agent.Running {
			return up, err == nil, err
		}
		parent = up.Parent
	}
	return agent.Agent{}, false, nil
}
