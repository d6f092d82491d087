package kernel

import (
	"context"
	"slices"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
)

// owe notes that somebody waits for the report of a job.
func (k *Kernel) owe(j *job, to, by id.Agent, wakes bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.debts == nil {
		k.debts = debts{}
	}
	if k.debts[to] == nil {
		k.debts[to] = map[id.Agent]bool{}
	}
	k.debts[to][by] = wakes || k.debts[to][by]
	j.owed, j.debtor = to, by
}

// paid forgets it; the caller has the mutex.
func (k *Kernel) paid(j *job) {
	if j.owed == "" {
		return
	}
	delete(k.debts[j.owed], j.debtor)
	if len(k.debts[j.owed]) == 0 {
		delete(k.debts, j.owed)
	}
	j.owed = ""
}

// owing lists who still works for an agent.
func (k *Kernel) owing(to id.Agent) []id.Agent {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []id.Agent
	for by := range k.debts[to] {
		out = append(out, by)
	}
	slices.Sort(out)
	return out
}

// open lists who still works for an agent that would end its turn, and whose reports wake nobody.
// Those who report at this moment are waited for: their letters may have been read already.
func (k *Kernel) open(ctx context.Context, to id.Agent) []id.Agent {
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	for {
		work, report := k.openNow(to)
		if !report {
			return work
		}
		select {
		case <-ctx.Done():
			return work
		case <-time.After(reportPause):
		}
	}
}

// reportPause is the interval for checking whether a report is finished.
const reportPause = 5 * time.Millisecond

// openNow lists who still works for an agent, and says whether others are about to report.
func (k *Kernel) openNow(to id.Agent) (work []id.Agent, report bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for by, wakes := range k.debts[to] {
		p := k.live[by]
		switch {
		case wakes:
		case p == nil || p.reports(): // one that is dead is told of before it owes nothing
			report = true
		default:
			work = append(work, by)
		}
	}
	slices.Sort(work)
	return work, report
}

// reports reports whether the agent's turn has ended, or its goroutine exits, and the report is about to be sent; the
// caller holds the mutex.
func (p *agentProcess) reports() bool {
	s := p.doing.seen()
	return p.exits || s.Word != "" && !s.Busy()
}

// thenOf returns the action that the report of a new child triggers.
func thenOf(c registry.Child) history.Then {
	for _, d := range c.Entries {
		if d.Meta.Then != "" {
			return d.Meta.Then
		}
	}
	return ""
}

// then returns the action that the report of an agent's task triggers; empty if no tool forked it.
func (k *Kernel) then(ctx context.Context, a id.Agent) (history.Then, error) {
	task, err := registry.TaskOf(ctx, k.Store, a)
	return task.Then, err
}

// lookedAt limits the entries searched for children that were handed over: those of the last turns.
const lookedAt = 256

// wanted reports whether the report of a child wakes its parent.
func (k *Kernel) wanted(ctx context.Context, parent, child id.Agent) (bool, error) {
	then, err := k.then(ctx, child)
	if err != nil || then == history.ThenWake {
		return err == nil, err
	}
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: parent}, history.Selection{Newest: lookedAt, Any: true}) {
		if err != nil {
			return false, err
		}
		if e.Kind != history.Command {
			continue
		}
		if m, err := e.Decode(); err != nil {
			return false, err
		} else if m.Command == history.ThenCommand && slices.Contains(m.Children, child) {
			return true, nil
		}
	}
	return false, nil
}

// handOver lets the reports of those who still work for the agent wake it.
func (p *agentProcess) handOver(ctx context.Context, claim agent.Claim) ([]id.Agent, error) {
	k := p.kernel
	open := k.owing(p.id)
	if len(open) == 0 {
		return nil, nil
	}
	if _, err := k.Store.Append(ctx, p.id, claim, history.Draft{Kind: history.Command,
		Meta: history.Meta{Command: history.ThenCommand, Then: history.ThenWake, Children: open}}); err != nil {
		return nil, err
	}
	k.drafts.moved(p.id)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, by := range open {
		if _, still := k.debts[p.id][by]; still {
			k.debts[p.id][by] = true
		}
	}
	return open, nil
}

// askedFor begins a turn of a parent that does nothing and asked for the report that was
// just sent.
func (k *Kernel) askedFor(ctx context.Context, parent, child id.Agent, family *counter) {
	if k.Wake == WakeNever {
		return
	}
	asked, err := k.wanted(ctx, parent, child)
	if err != nil {
		k.trouble(ctx, "look whether a report wakes", err)
		return
	}
	if !asked {
		return
	}
	then, err := k.then(ctx, parent)
	if err != nil {
		k.trouble(ctx, "look whose task it is", err)
		return
	}
	k.call(parent, &job{ctx: k.ctx, woken: true, reported: true, task: then != "", family: family})
}

// nudge lets those who wait look again: somebody ended.
func (k *Kernel) nudge() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p := range k.waiters {
		p.ring()
	}
}

// forgive forgets what the dead owe, once it was told that they are.
func (k *Kernel) forgive(dead []id.Agent) {
	k.mu.Lock()
	for to, by := range k.debts {
		for _, a := range dead {
			delete(by, a)
		}
		if len(by) == 0 {
			delete(k.debts, to)
		}
	}
	k.mu.Unlock()
	k.nudge()
}
