package app

import (
	"context"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/operation/session"
	"ramet/internal/runner"
	"ramet/internal/store"
)

// takeAgent finds the run's own agent or makes it, and keeps its lease until closing: that is how everybody can
// tell that this process carries the run out.
func (c *carrier) takeAgent(ctx context.Context, closing *closers) error {
	err := c.ws.Unlimited(ctx, "carry out a run")
	if err == nil {
		c.own, err = c.findAgent(ctx)
	}
	found := c.own != ""
	if err == nil && !found {
		c.own, err = c.makeAgent(ctx)
	}
	if err != nil {
		return err
	}
	err = whileLeased(ctx, 2*c.kernel.Lease, func() (err error) { // of one on another host only its lease tells that it is gone
		c.kept, err = c.kernel.Keep(ctx, c.own)
		return err
	})
	if err != nil {
		return err
	}
	closing.add(func() error { c.kept.Release(ctx); return nil })
	if !found {
		return nil
	}
	return orphans(ctx, c.ws.Store, c.own)
}

// findAgent returns the run's own agent, or "" if it has none that lives.
func (c *carrier) findAgent(ctx context.Context) (id.Agent, error) {
	name, ok, err := c.Store.Agent(c.Session.RunID)
	if err != nil || !ok {
		return "", err
	}
	a, err := c.ws.Store.Agent(ctx, id.Agent(name))
	if fault.Is(err, fault.NotFound) || err == nil && agent.NeedLiving(a) != nil {
		return "", nil
	}
	return a.ID, err
}

// makeAgent forks the run's own agent from agent 0, after a clear: the run has nothing to do with that
// conversation. The agent is held from its birth.
func (c *carrier) makeAgent(ctx context.Context) (id.Agent, error) {
	ws, runID := c.ws.Store, c.Session.RunID
	zero, err := agent.Find(ctx, ws, "0")
	if err != nil {
		return "", err
	}
	child := registry.Child{ID: id.NewAgent(), Name: runName(ctx, ws, runID), Cwd: c.ws.Place.Project, Entries: []history.Draft{history.NewClear()}}
	if c.Recipe.Brief != "" {
		said, err := history.Say(history.System, c.Recipe.Brief)
		if err != nil {
			return "", err
		}
		child.Entries = append(child.Entries, said)
	}
	err = whileLeased(ctx, busyTime, func() error {
		_, err := ws.Fork(ctx, registry.Fork{Parent: zero.ID, Children: []registry.Child{child}, Run: runID, Holder: c.kernel.Owner, Tenure: c.kernel.Lease})
		return err
	})
	if err != nil {
		return "", err
	}
	return child.ID, c.Store.PutAgent(runID, string(child.ID))
}

// orphans ends the workers that an earlier process of the run left: their items are done
// again by others.
func orphans(ctx context.Context, ws *store.Cleaned, own id.Agent) error {
	living, err := ws.Agents(ctx, agent.Filter{Brief: true})
	if err != nil {
		return err
	}
	for _, a := range living {
		if a.Parent != own {
			continue
		}
		if _, err := ws.Kill(ctx, registry.Kill{Agent: a.ID, Cascade: true, By: own, Reason: "its item was interrupted"}); err != nil {
			return err
		}
	}
	return nil
}

// runName returns a name for the run's agent that no living agent has, or "" if there is none.
func runName(ctx context.Context, ws *store.Cleaned, runID string) string {
	name := session.RunName + strings.Trim(runID, "-_")
	if agent.CheckName(name) != nil {
		name = name[:min(len(name), 24)]
	}
	if agent.CheckName(name) != nil {
		return ""
	}
	if other, ok, err := ws.Named(ctx, name); err != nil || ok && other.Status == agent.Running {
		return ""
	}
	return name
}

// busyTime limits the time a run waits for agent 0 to be idle.
const busyTime = 30 * time.Second

// whileLeased repeats what is refused because another process holds the agent, for a while.
func whileLeased(ctx context.Context, patience time.Duration, do func() error) error {
	until := time.Now().Add(patience)
	for {
		err := do()
		if !fault.Is(err, fault.Leased) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// checkAgent returns why the run has to stop because its agent is dead, and nil while it lives or cannot be read.
// Killing the agent on purpose cancels the run, from wherever. An agent that ended otherwise is no cancellation: the
// run is resumed with another one. A lease that was lost is taken again.
func (c *carrier) checkAgent(ctx context.Context) error {
	a, err := c.ws.Store.Agent(ctx, c.own)
	if err != nil {
		return nil
	}
	if agent.NeedLiving(a) == nil {
		if !c.kept.Holds(a) {
			c.kernel.Keep(ctx, c.own) // refused while another process is about to end it: the next look tells
		}
		return nil
	}
	for e, err := range c.ws.Store.QueryRange(ctx, history.Range{Agent: c.own}, history.Selection{Newest: 1, Any: true}) {
		if err != nil {
			return nil
		}
		m, err := e.Decode()
		if err != nil {
			return nil
		}
		if cancelled := cancelledBy(m, c.own); cancelled != nil {
			return cancelled
		}
	}
	return fault.New(fault.Interrupted, "%w: %s", runner.ErrAgentEnded, a.EndReason).WithHint("`ramet run resume %s` continues with another agent", c.Session.RunID)
}

// cancelledBy returns the cancellation that the last entry of a run's agent records, or nil if neither a person nor
// another agent killed it.
func cancelledBy(killed history.Meta, own id.Agent) error {
	reason := killed.Reason
	switch {
	case killed.Actor != nil && (reason == "" || reason == "killed"):
		reason = "cancelled by the user"
	case killed.Actor != nil:
	case killed.By != "" && killed.By != string(own):
		reason = "cancelled by agent " + id.Agent(killed.By).Short() + ": " + reason
	default:
		return nil
	}
	return &runner.Cancelled{Reason: reason}
}

// watch checks the run's agent until ctx ends, and stops the run when it is dead.
func (c *carrier) watch(ctx context.Context, r *runner.Run) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if why := c.checkAgent(ctx); why != nil {
			r.Stop(why)
			return
		}
	}
}
