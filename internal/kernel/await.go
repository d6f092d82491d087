package kernel

import (
	"context"
	"slices"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/state"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
)

// lookAgain is the interval at which a wait checks whether agents of other kernels still work: their mail wakes it, but
// an end without mail doesn't.
const lookAgain = 5 * time.Second

// await blocks until what is waited for has come, or nobody is left from whom it could.
func (p *agentProcess) await(ctx context.Context, w acts.Wait) (acts.Waited, error) {
	k := p.kernel
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
		came, err := p.unread(ctx, w.From)
		if err != nil {
			return acts.Waited{}, err
		}
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

// unread reports whether there is unread mail from an agent that this one waits for.
func (p *agentProcess) unread(ctx context.Context, from []id.Agent) (bool, error) {
	letters, err := p.kernel.Store.Letters(ctx, p.id, mail.Filter{Unread: true})
	return slices.ContainsFunc(letters, func(l mail.Letter) bool { return acts.From(l, from) }), err
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

// reporting are the agents here whose turns have ended and are about to be told of.
func (k *Kernel) reporting() []id.Agent {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []id.Agent
	for a, p := range k.live {
		if p.reports() {
			out = append(out, a)
		}
	}
	return out
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
	for _, a := range k.reporting() {
		if a != but && !busy[a] {
			busy[a], moving = true, true // its letter is on the way
		}
	}
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
