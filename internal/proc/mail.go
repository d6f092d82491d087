package proc

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/agent"
	"ramet/internal/fault"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/llm"
	"ramet/internal/loop"
	"ramet/internal/mail"
	"ramet/internal/registry"
	"ramet/internal/state"
	"ramet/internal/text"
)

// Send puts a letter into a mailbox, under the sender's lease where we hold it,
// and wakes the receiver, whoever runs it.
func (k *Kernel) Send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	s.Most = k.MostUnread
	if !s.From.Keeps() {
		return k.send(ctx, s)
	}
	var l mail.Letter
	err := k.entitled(ctx, s.From, func(c agent.Claim) (err error) {
		s.Claim = c
		l, err = k.send(ctx, s)
		return err
	})
	return l, err
}

func (k *Kernel) send(ctx context.Context, s registry.Send) (mail.Letter, error) {
	l, err := k.Store.Send(ctx, s)
	if err != nil {
		return l, err
	}
	k.drafts.moved(s.From)
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

func (p *process) ring() {
	select {
	case p.mail <- struct{}{}:
	default:
	}
}

// await blocks until a letter waits.
func (p *process) await(ctx context.Context, from *id.Agent, timeout time.Duration) (bool, error) {
	late := time.NewTimer(timeout)
	defer late.Stop()
	whom := p.whom(ctx, from)
	p.becomes(func(d *doing) { d.now = state.State{Word: state.Waits, Detail: whom} })
	for {
		letters, err := p.kernel.Store.Letters(ctx, p.id, mail.Filter{Unread: true, From: from})
		if err != nil || len(letters) > 0 {
			return len(letters) > 0, err
		}
		if from != nil && *from != "" {
			a, err := p.kernel.Store.Agent(ctx, *from)
			if err != nil {
				return false, err
			}
			if err := agent.NeedLiving(a); err != nil {
				return false, err
			}
		}
		select {
		case <-p.mail:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, llm.Ended(ctx)
		}
	}
}

// report tells the parent of a task how it ended. The agent's lease is still held.
func (p *process) report(ctx context.Context, a agent.Agent, j *job, o loop.Outcome, err error) {
	if !j.task || o.Ended || errors.Is(err, errKilled) {
		return // it said so itself, or who killed it does
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	tell := func(what string) error { return p.kernel.tellOf(ctx, a, what) }
	if err != nil && !o.Began {
		p.regret(ctx, err)
	}
	switch {
	case fault.Is(err, fault.Cancelled) || fault.Is(err, fault.Interrupted):
		what := "was interrupted."
		if o.Text != "" {
			what += " Its last words were:\n" + o.Text
		}
		err = tell(what)
	case err != nil:
		err = tell("failed: error[" + string(fault.CodeOf(err)) + "]: " + err.Error())
	case o.Text == "":
		err = tell("is done, and has nothing to say.")
	default: // its own words
		err = p.kernel.notify(ctx, a, p.kernel.claim(p.id), cut(o.Text), state.Well)
	}
	if err != nil && !lost(err) {
		p.kernel.Events.Publish(loop.Event{Type: loop.Note, Agent: p.id, Text: "the parent could not be told: " + err.Error()})
	}
}

// regret writes into a history why the agent's task could not begin: nothing else there
// tells of it.
func (p *process) regret(ctx context.Context, why error) {
	note, err := history.Say(history.Note, "the task did not begin: "+text.Line(why.Error(), 400))
	if err != nil {
		return
	}
	note.Meta.Reason = state.Why(why)
	if _, err := p.kernel.Store.Append(ctx, p.id, p.kernel.claim(p.id), note); err != nil && !lost(err) {
		p.kernel.trouble(ctx, "record why "+p.id.Short()+" did not begin", err)
	}
}

// cut makes a text fit into a letter.
func cut(body string) string {
	const mark = "\n[cut]"
	body = strings.ToValidUTF8(strings.ReplaceAll(body, "\x00", ""), "\uFFFD")
	if len(body) <= mail.MaxBody {
		return body
	}
	end := mail.MaxBody - len(mark)
	for end > 0 && !utf8.RuneStart(body[end]) {
		end--
	}
	return body[:end] + mark
}

// tellOf sends the nearest living ancestor of an agent a notice of the kernel about it.
func (k *Kernel) tellOf(ctx context.Context, a agent.Agent, what string) error {
	up, ok, err := k.ancestor(ctx, a)
	if err != nil || !ok {
		return err
	}
	_, err = k.send(ctx, registry.Send{From: id.Kernel, About: a.ID, To: up.ID, Body: cut("Agent " + a.Label() + " (" + string(a.ID) + ") " + what)})
	return err
}

// notify sends a letter of an agent to its nearest living ancestor. Agent 0 has
// none. why is how its task ended; empty: it reports nothing.
func (k *Kernel) notify(ctx context.Context, a agent.Agent, claim agent.Claim, body, why string) error {
	up, ok, err := k.ancestor(ctx, a)
	if err != nil || !ok {
		return err
	}
	_, err = k.send(ctx, registry.Send{From: a.ID, Claim: claim, To: up.ID, Body: body, Reason: why})
	return err
}
