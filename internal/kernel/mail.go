package kernel

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
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

// lookAgain is the interval at which a wait checks whether agents of other kernels still work: their mail wakes it, but
// an end without mail doesn't.
const lookAgain = 5 * time.Second

// Await implements process.Kernel: it blocks until what is waited for has come, or nobody is left from whom it could.
func (h verbs) Await(ctx context.Context, w acts.Wait) (acts.Waited, error) {
	k, p := h.Kernel, h.p
	until := time.Now().Add(w.Timeout).Round(0) // the time in which the machine sleeps counts
	late := time.NewTimer(w.Timeout)
	defer late.Stop()
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	k.mu.Lock()
	k.waiters[p] = true
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		delete(k.waiters, p)
		k.mu.Unlock()
	}()
	whom := p.whom(ctx, w)
	p.becomes(func(d *doing) { d.now = state.State{Word: state.Waits, Detail: whom} })
	if w.All && len(w.From) == 0 {
		w.From = k.owing(p.id)
	}
	for {
		// Who works first: what they wrote before they ended is there by then.
		working, err := p.working(ctx, w)
		if err != nil {
			return acts.Waited{}, err
		}
		letters, err := k.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
		if err != nil {
			return acts.Waited{}, err
		}
		came := slices.ContainsFunc(letters, func(l mail.Letter) bool { return acts.From(l, w.From) })
		switch out := (acts.Waited{Came: came, Working: working}); {
		case came && !w.All, len(working) == 0:
			return out, nil
		case time.Now().After(until):
			out.Late = true
			return out, nil
		}
		select {
		case <-p.mail:
		case <-again.C:
		case <-late.C:
			until = time.Time{}
		case <-ctx.Done():
			return acts.Waited{}, llm.Ended(ctx)
		}
	}
}

// working lists who could still write, of those that are waited for: who works, or waits
// while others work. If everybody waits, nobody will. The user may always write.
func (p *agentProcess) working(ctx context.Context, w acts.Wait) ([]id.Agent, error) {
	busy, moving, err := p.kernel.others(ctx, p.id)
	if err != nil {
		return nil, err
	}
	var out []id.Agent
	for _, a := range w.From {
		if a == "" {
			out, moving = append(out, a), true
		}
	}
	for a := range busy {
		if len(w.From) == 0 || slices.Contains(w.From, a) {
			out = append(out, a)
		}
	}
	if !moving {
		return nil, nil
	}
	slices.Sort(out)
	return out, nil
}

// others are the agents that work or wait, here or in another kernel, but for one; moving
// says that one of them does more than to wait.
func (k *Kernel) others(ctx context.Context, but id.Agent) (busy map[id.Agent]bool, moving bool, err error) {
	busy = map[id.Agent]bool{}
	for a, s := range k.States() {
		if a != but && s.Busy() {
			busy[a] = true
			moving = moving || s.Word != state.Waits
		}
	}
	k.mu.Lock()
	for a, p := range k.live {
		if p.reports() && a != but && !busy[a] {
			busy[a], moving = true, true // its letter is on the way
		}
	}
	k.mu.Unlock()
	for _, a := range k.owing(but) {
		moving = moving || !busy[a] // it died, and that is about to be told
		busy[a] = true
	}
	leased, now, err := k.Store.Leased(ctx)
	left := agent.OwnersGone(now, k.Gone)
	for _, a := range leased {
		if a.Lease.Owner != k.Owner && !left(a.Lease) {
			busy[a.ID], moving = true, true
		}
	}
	return busy, moving, err
}
