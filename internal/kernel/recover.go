package kernel

import (
	"context"
	"runtime/debug"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
)

// renew prolongs the leases while there are any, and looks after agents that dead
// kernels held.
func (k *Kernel) renew() {
	var spare tidier
	k.every(k.Pulse, func() {
		k.look(k.ctx)
		if spare.due(k.turns.Load(), len(k.held()) > 0) {
			debug.FreeOSMemory()
		}
	})
}

// look renews, and finds out what was lost meanwhile.
func (k *Kernel) look(ctx context.Context) {
	held := k.held()
	if len(held) > 0 {
		ours, err := k.prolong(ctx)
		if err != nil {
			k.trouble(ctx, "renew leases", err)
			return // the writes find out
		}
		still := map[agent.Holding]bool{}
		for _, h := range ours {
			still[h] = true
		}
		for _, h := range held {
			if !still[h] {
				k.lose(ctx, h.Agent)
			}
		}
	}
	if err := k.Recover(ctx); err != nil {
		k.trouble(ctx, "look for interrupted agents", err)
	}
}

// Recover closes what dead kernels left open: every running agent whose lease ran
// out, or whose holder is known to be gone. Its history is mended, and its parent
// gets a letter. Nothing is run again. An agent that cannot be mended is told of
// and left alone. It does a few at a time, so that nobody waits who needs none of them.
func (k *Kernel) Recover(ctx context.Context) error {
	ctx = history.Unattended(ctx) // whatever it is part of
	leased, now, err := k.Store.Leased(ctx)
	if err != nil {
		return err
	}
	left, most := agent.OwnersGone(now, k.Gone), rescuedAtOnce
	for _, a := range leased {
		if most == 0 {
			return nil
		}
		if a.Lease.Owner == k.Owner || !left(a.Lease) {
			continue
		}
		if err := k.rescue(ctx, a); err != nil && !lost(err) && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Leased) {
			k.trouble(ctx, "mend agent "+a.Label(), err)
		}
		most--
	}
	return nil
}

// rescuedAtOnce limits the agents repaired in one pass; the next pass follows soon.
const rescuedAtOnce = 64

func (k *Kernel) rescue(ctx context.Context, a agent.Agent) error {
	done, ok := k.mend(a.ID)
	if !ok {
		return nil
	}
	defer done()
	lease, err := k.Store.Seize(ctx, a.ID, a.Lease, k.Owner, k.Lease)
	if err != nil {
		return err
	}
	p := newProcess(k, a.ID, nil) // no goroutine: nothing will run
	p.lease = &lease
	defer p.release(ctx)
	if k.Sleeps != nil && k.Sleeps(a) {
		return nil // a run's agent was kept: no turn was interrupted
	}
	if a, err = k.Store.Agent(ctx, a.ID); err != nil {
		return err
	}
	if err := p.recall(ctx, a); err != nil {
		return err
	}
	drafts, err := p.mend(ctx)
	if err != nil {
		return err
	}
	if len(drafts) == 0 || drafts[0].Kind != history.Interrupted {
		drafts = append(drafts, history.Draft{Kind: history.Interrupted, Meta: history.Meta{Reason: "the process ended"}})
	}
	claim := agent.Held(k.Owner, lease.Epoch)
	if err := p.append(ctx, claim, drafts...); err != nil {
		return err
	}
	if err := k.interrupted(ctx, a.ID); err != nil {
		k.trouble(ctx, "record in the ledger that "+a.Label()+" was interrupted", err)
	}
	told, err := k.tellOf(ctx, a, "", "was interrupted: the process that ran it ended. What it did so far is in its history; nothing was run again.")
	if told != "" && k.Resident {
		k.askedFor(ctx, told, a.ID, nil)
	}
	return err
}

// again makes a job go on with what another process did not finish, as if it were that one's:
// a task is a task still, its parent waits for the report or is woken by it, and letters that
// began turns are counted on. All of it is in the histories.
func (k *Kernel) again(ctx context.Context, a id.Agent, j *job) error {
	j.family = &counter{attended: k.attended(j.by), of: a, terms: j.prompt.Terms, before: func(of id.Agent) int {
		n, err := k.woken(k.ctx, of)
		if err != nil {
			k.trouble(k.ctx, "count the wakes of "+of.Short(), err)
		}
		return n
	}}
	if j.task {
		return nil
	}
	then, err := k.then(ctx, a)
	if err != nil || then == "" {
		return err
	}
	j.task = true
	child, err := k.Store.Agent(ctx, a)
	if err != nil {
		return err
	}
	up, ok, err := k.ancestor(ctx, child)
	if err != nil || !ok {
		return err
	}
	wakes, err := k.wanted(ctx, up.ID, a)
	if err != nil {
		return err
	}
	k.owe(j, up.ID, a, wakes) // before the parent's own turn can end
	return nil
}

// woken counts the turns of an agent that mail began since a person last prompted it, by the notices at their beginning.
func (k *Kernel) woken(ctx context.Context, a id.Agent) (int, error) {
	n := 0
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: a}, history.Selection{Newest: lookedAt, Any: true}) {
		if err != nil {
			return n, err
		}
		switch e.Kind {
		case history.User:
			if m, err := e.Decode(); err != nil || m.Then == "" {
				return n, err
			}
		case history.Notice:
			parts, err := e.Parts()
			if err != nil {
				return n, err
			}
			switch said := history.Plain(parts); {
			case strings.HasPrefix(said, "Mail from the user"):
				return n, nil
			case strings.HasSuffix(said, readIt):
				n++
			}
		}
	}
	return n, nil
}
