package session

import (
	"context"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
	"ramet/internal/core/agent"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/core/state"
	"ramet/internal/kernel"
	"ramet/internal/operation/control"
)

// maxReason is the longest reason of a kill, in bytes.
const maxReason = 512

// Kill asks for an end.
type Kill struct {
	Agent   agent.Agent
	Cascade *bool  // its subtree too; nil: as configured
	Reason  string // empty: "killed"
	Confirm *int   // how many may end; nil: as many as there are
}

// CheckReason refuses what is no reason.
func CheckReason(reason string) error {
	return fault.CheckText(fault.InvalidText, "the reason", reason, maxReason)
}

// Victims counts the agents that a kill would end now.
func (w Agents) Victims(ctx context.Context, k Kill) (n int, cascade bool, err error) {
	cascade = w.cascades(k)
	if err := registry.MayKill(k.Agent); err != nil {
		return 0, cascade, err
	}
	if !cascade {
		if k.Agent.Status == agent.Running {
			n = 1
		}
		return n, cascade, nil
	}
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true, Brief: true})
	return agent.CountLiving(all, k.Agent.ID), cascade, err
}

func (w Agents) cascades(k Kill) bool {
	if k.Cascade != nil {
		return *k.Cascade
	}
	return w.ws.Config.Orphans == "cascade"
}

// Kill ends an agent. Nothing of the victims runs on this machine when it returns without
// an error; whoever asked and goes away leaves no half of it behind.
func (w Agents) Kill(ctx context.Context, k Kill) (registry.Killed, error) {
	if k.Reason == "" {
		k.Reason = "killed"
	}
	if err := CheckReason(k.Reason); err != nil {
		return registry.Killed{}, err
	}
	if k.Confirm != nil {
		n, _, err := w.Victims(ctx, k)
		if err != nil {
			return registry.Killed{}, err
		}
		if n != *k.Confirm {
			return registry.Killed{}, Miscounted{n, fault.New(fault.Conflict, "this would end %s, and that is not what was confirmed", text.Count(n, "agent"))}
		}
	}
	if err := w.ws.may(ctx, "kill", k.Agent); err != nil {
		return registry.Killed{}, err
	}
	if err := w.ws.needs(ctx, "kill", "kill"); err != nil {
		return registry.Killed{}, err
	}
	held, err := control.Held(ctx, w.ws.Store)
	if err != nil {
		return registry.Killed{}, err
	}
	ctx = context.WithoutCancel(ctx)
	order := registry.Kill{Agent: k.Agent.ID, Cascade: w.cascades(k), By: w.ws.asks(ctx), Reason: k.Reason}
	var done registry.Killed
	if w.ws.Kernel != nil {
		done, err = w.ws.Kernel.Kill(ctx, order)
	} else {
		done, err = w.ws.Store.Kill(ctx, order)
	}
	if err != nil {
		return done, err
	}
	err = w.ws.Peers.Reap(ctx, w.ws.owner(), held, control.Deaths(done)...)
	w.killed(ctx, k.Agent, order)
	return done, err
}

// killed tells hooks of a kill: a person's is never kept from happening. What came of it stands in
// the history of the nearest one above who lives.
func (w Agents) killed(ctx context.Context, a agent.Agent, order registry.Kill) {
	hooks := w.ws.Project().HooksOf(a, "")
	if hooks == nil {
		return
	}
	o := kernel.Killing(order)
	o.Shown = true
	v := hooks(ctx, o)
	for up := a.Parent; up != ""; {
		row, err := w.ws.Store.Agent(ctx, up)
		if err != nil {
			return
		}
		if row.Status == agent.Running {
			_ = w.ws.Project().tells(ctx, up, v.Entries) // the agent is dead whatever comes of it
			return
		}
		up = row.Parent
	}
}

// Miscounted refuses a kill that would end another number of agents than was confirmed: N.
type Miscounted struct {
	N int
	error
}

// Unwrap returns the fault.
func (m Miscounted) Unwrap() error { return m.error }

// KillFinished ends the agents that are done or have failed, and below which no agent has
// anything left to do. They stay what they were; nothing is asked.
func (w Agents) KillFinished(ctx context.Context) ([]agent.Agent, error) {
	all, err := w.ws.Store.Agents(ctx, agent.Filter{Dead: true})
	if err != nil {
		return nil, err
	}
	now, err := w.States(ctx, false)
	if err != nil {
		return nil, err
	}
	var ended []agent.Agent
	gone, whole := map[id.Agent]bool{}, true
	for _, a := range listFinished(all, now) {
		if gone[a.ID] {
			continue
		}
		done, err := w.Kill(ctx, Kill{Agent: a, Cascade: &whole, Reason: state.Over})
		if err != nil {
			return ended, err
		}
		for _, v := range done.Victims {
			gone[v.ID] = true
			ended = append(ended, v)
		}
	}
	return ended, nil
}

// listFinished returns the agents that are finished and have none at work or interrupted in their subtree; parents come
// before children.
func listFinished(all []agent.Agent, now state.Now) []agent.Agent {
	open := map[id.Agent]bool{} // it, or an agent below it, may continue
	parent := map[id.Agent]id.Agent{}
	for _, a := range all {
		parent[a.ID] = a.Parent
		if s := now.Of(a); a.Status == agent.Running && !s.Finished() && s.Word != state.Idle {
			for up := a.ID; up != "" && !open[up]; up = parent[up] {
				open[up] = true
			}
		}
	}
	var out []agent.Agent
	for _, a := range all {
		if a.Status == agent.Running && !a.IsZero() && !open[a.ID] && now.Of(a).Finished() {
			out = append(out, a)
		}
	}
	return out
}

// Leave ends the agent that asks: its last words are in its parent's mailbox when it
// returns, and end, which the caller calls after its answer, ends the agent and what it runs; its
// children live on.
func (w Turns) Leave(ctx context.Context, result string) (end func(), err error) {
	own := w.ws.asks(ctx)
	if own == "" {
		return nil, fault.New(fault.Usage, "only an agent can end itself").WithHint("kill ends one")
	}
	me, err := w.ws.Store.Agent(ctx, own)
	if err != nil {
		return nil, err
	}
	if me.IsZero() {
		return nil, fault.New(fault.AgentZero, "you are agent 0, which cannot end").WithHint("just stop: say your last words")
	}
	if err := agent.NeedLiving(me); err != nil {
		return nil, err
	}
	if result != "" {
		if err := mail.CheckBody(result); err != nil {
			return nil, err
		}
		parent, err := w.ws.Store.Agent(ctx, me.Parent)
		if err != nil {
			return nil, err
		}
		if _, err := w.ws.Mail().Send(ctx, Letter{To: parent, Body: result}); err != nil && !fault.Is(err, fault.DeadAgent) {
			return nil, err
		}
	}
	cascade := false
	ctx = context.WithoutCancel(ctx)
	return func() { _, _ = w.ws.Agents().Kill(ctx, Kill{Agent: me, Cascade: &cascade, Reason: "exited"}) }, nil // who died meanwhile has ended
}
