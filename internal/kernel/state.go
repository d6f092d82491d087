package kernel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/state"
	acts "ramet/internal/kernel/process"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

// take follows an event of the turn.
func (d *doing) take(e loop.Event) {
	does := func(detail string) { d.now = state.State{Word: state.Working, Detail: detail} }
	switch e.Type {
	case loop.TextDelta:
		does(state.Writes)
	case loop.ThinkingDelta, loop.Spent:
		does(state.Thinks)
	case loop.CallStarted:
		d.calls = append(d.calls, open{e.CallID, e.Tool})
		does(state.Runs(e.Tool))
	case loop.CallEnded:
		d.calls = slices.DeleteFunc(d.calls, func(c open) bool { return c.id == e.CallID })
		does(state.Thinks)
		if n := len(d.calls); n > 0 {
			does(state.Runs(d.calls[n-1].tool))
		}
	case loop.Compacting:
		does(state.Compacts)
	case loop.Retrying:
		does(state.Retries)
	}
}

// States returns the states of the active agents of this kernel.
func (k *Kernel) States() map[id.Agent]state.State {
	out := map[id.Agent]state.State{}
	k.mu.Lock()
	for a := range k.keeps {
		out[a] = state.State{Word: state.Idle}
	}
	for a, p := range k.live {
		if s := p.seen(); s.Word != "" {
			out[a] = s
		}
	}
	k.mu.Unlock()
	if k.Runners == nil {
		return out
	}
	for _, a := range k.Runners() {
		if line := k.commands(a); line != "" {
			now := out[a]
			now.Commands = line
			out[a] = now
		}
	}
	return out
}

// seen returns the state of a process, current or imminent; the caller holds the mutex.
func (p *agentProcess) seen() state.State {
	if p.doing.elsewhere {
		return state.State{}
	}
	s, pending := p.doing.seen(), p.pending
	if p.called && !p.awaited {
		pending-- // it only looks for mail, and nobody knows of any
	}
	if s.Word == "" && pending > 0 || s.Word != "" && !s.Busy() && pending > 1 {
		return state.State{Word: state.Working, Detail: state.Starts}
	}
	return s
}

// Sources returns the sources of agents' states, whichever kernel runs them.
func (k *Kernel) Sources() state.Sources {
	return state.Sources{Store: k.Store, Gone: k.Gone, Owner: k.Owner, Here: k.States, There: k.There}
}

// settled publishes the state of an agent after its turn, from its history.
func (p *agentProcess) settled(ctx context.Context) {
	k := p.kernel
	if !k.Events.Heard() {
		return
	}
	a, err := k.Store.Agent(ctx, p.id)
	if err != nil {
		return // the faces look themselves
	}
	last, err := k.Store.Endings(ctx, false, p.id)
	if err != nil || a.Lease.Owner != "" && a.Lease.Owner != k.Owner {
		return
	}
	now := state.Of(a, state.Nobody, state.State{Commands: k.commands(p.id)}, last[p.id])
	k.Events.Publish(loop.Event{Type: loop.Became, Agent: p.id, State: &now})
}

// Asking lets the kernel know while a question about an agent's call is open.
func (k *Kernel) Asking(next permit.Asker) permit.Asker {
	if next == nil {
		return nil
	}
	return asking{next, k}
}

type asking struct {
	permit.Asker
	kernel *Kernel
}

// Ask implements permit.Asker.
func (a asking) Ask(ctx context.Context, q permit.Question) (permit.Verdict, error) {
	if p := a.kernel.lookup(q.Agent); p != nil {
		p.becomes(func(d *doing) { d.asking++ })
		defer p.becomes(func(d *doing) { d.asking = max(0, d.asking-1) })
		// Should the process end while the person thinks, it is known that the call had not begun.
		if _, err := a.kernel.Store.Append(ctx, q.Agent, a.kernel.claim(q.Agent), history.Draft{Kind: history.Command,
			Meta: history.Meta{Command: history.AskCommand, CallID: q.CallID}}); err != nil {
			return permit.Verdict{}, err
		}
	}
	a.kernel.notifies(ctx, q)
	return a.Asker.Ask(ctx, q)
}

// asked tells of a call without a result whether a person was still asked about it when the process
// ended.
func (k *Kernel) asked(ctx context.Context, a id.Agent, open []llm.Part) (func(llm.Part) bool, error) {
	if len(open) == 0 {
		return nil, nil
	}
	last := map[string]string{}
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Newest: 4 * len(open), Any: true}) {
		if err != nil {
			return nil, err
		}
		if e.Kind != history.Command {
			continue
		}
		m, err := e.Decode()
		if err != nil {
			return nil, err
		}
		if _, newer := last[m.CallID]; !newer && m.CallID != "" {
			last[m.CallID] = m.Command
		}
	}
	return func(call llm.Part) bool { return last[call.CallID] == history.AskCommand }, nil
}

// whom is for whom an agent waits, in words.
func (p *agentProcess) whom(ctx context.Context, w acts.Wait) string {
	switch {
	case w.All && len(w.From) == 0:
		return "for mail from its children"
	case len(w.From) == 0:
		return "for mail"
	case len(w.From) > 1:
		return fmt.Sprintf("for mail from %d agents", len(w.From))
	case w.From[0] == "":
		return "for mail from you"
	}
	a, err := p.kernel.Store.Agent(ctx, w.From[0])
	if err != nil {
		a = agent.Agent{ID: w.From[0], Parent: "-"}
	}
	return "for mail from " + a.Label()
}

// seen returns the visible state of a process.
func (d *doing) seen() state.State {
	switch {
	case d.now.Word == "" || d.elsewhere:
		return state.State{}
	case d.stopping:
		return state.State{Word: state.Working, Detail: state.Stopping}
	case d.asking > 0:
		tool := ""
		if n := len(d.calls); n > 0 {
			if tool = "for permission of " + d.calls[n-1].tool; d.calls[n-1].tool == "ask" {
				tool = "a question"
			}
		}
		return state.State{Word: state.Asks, Detail: tool}
	}
	return d.now
}

// becomes changes what a process does, and tells of it where that is seen.
func (p *agentProcess) becomes(change func(*doing)) {
	p.kernel.mu.Lock()
	change(&p.doing)
	now := p.doing.seen()
	fresh := now != p.doing.shown && now.Word != ""
	p.doing.shown = now
	p.kernel.mu.Unlock()
	if fresh { // a copy: now would be on the heap for every word
		p.kernel.Events.Publish(loop.Event{Type: loop.Became, Agent: p.id, State: new(now)})
	}
}

// end stops the turn of an agent for a reason and waits until it is over.
func (k *Kernel) end(ctx context.Context, a id.Agent, why error) (bool, error) {
	k.mu.Lock()
	var stop context.CancelCauseFunc
	var ended chan struct{}
	p := k.live[a]
	if p != nil {
		stop, ended = p.stop, p.ended
	}
	k.mu.Unlock()
	if stop == nil {
		return false, nil
	}
	p.becomes(func(d *doing) { d.stopping = true })
	stop(why)
	select {
	case <-ended:
		return true, nil
	case <-ctx.Done():
		return true, llm.Ended(ctx)
	}
}

// abandon ends the commands that agents left running: whose turn was stopped, whose task is
// over, who are dead.
func (k *Kernel) abandon(agents ...id.Agent) {
	if k.Abandon == nil {
		return
	}
	for _, a := range agents {
		k.Abandon(a)
	}
}

// commands returns the background commands of an agent on one line.
func (k *Kernel) commands(a id.Agent) string { return strings.Join(optional(k.Background, a), "; ") }

// CommandsChanged publishes that the background commands of an agent changed.
func (k *Kernel) CommandsChanged(a id.Agent) {
	k.Events.Publish(loop.Event{Type: loop.Became, Agent: a}) // its readers look themselves
}
