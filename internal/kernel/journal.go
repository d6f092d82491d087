package kernel

import (
	"context"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// journal is the history of a process, for its turn.
type journal struct {
	p     *agentProcess
	claim agent.Claim
}

func (j *journal) Append(ctx context.Context, drafts ...history.Draft) ([]history.Entry, error) {
	j.p.kernel.drafts.forget(j.p.id)
	return j.p.kernel.record(ctx, j.p.id, j.claim, drafts...)
}

func (j *journal) Since(ctx context.Context, after id.Message) ([]history.Entry, error) {
	return since(ctx, j.p.kernel.Store, j.p.id, after)
}

func (j *journal) Replay(ctx context.Context) (*history.Context, error) {
	return replay(ctx, j.p.kernel.Store, j.p.id)
}

// replay reads a context as it is at one moment.
func replay(ctx context.Context, v history.Viewer, a id.Agent) (c *history.Context, err error) {
	err = v.View(ctx, func(log history.Log) error {
		c, err = history.Replay(ctx, log, a)
		return err
	})
	return c, err
}

func (j *journal) Blob(ctx context.Context, h chain.Hash) ([]byte, error) {
	return j.p.kernel.Store.Blob(ctx, h)
}

func (j *journal) Streaming(text func() string) { j.p.kernel.drafts.put(j.p.id, j.claim, text) }

// record appends entries to the history of an agent that is held here. While the store
// cannot be reached it goes on trying, as long as the lease lasts: what a model said or a
// tool did is not thrown away because a connection was lost.
func (k *Kernel) record(ctx context.Context, a id.Agent, claim agent.Claim, drafts ...history.Draft) ([]history.Entry, error) {
	until := time.Now().Add(k.margin())
	for {
		entries, err := k.Store.Append(ctx, a, claim, drafts...)
		if fault.Is(err, fault.UnknownOutcome) && len(entries) > 0 {
			var done bool
			if done, err = k.recorded(ctx, claim, entries[0], until); done && err == nil {
				return entries, nil
			}
			if err == nil {
				continue // it did not happen: once more
			}
		}
		if err != nil && ctx.Err() != nil && !lost(err) {
			return nil, fault.New(fault.StorageUnreachable, "the store did not take what was to be written in time: %w", err)
		}
		if !unreachable(err) || !again(ctx, until) {
			return entries, err
		}
	}
}

// Order writes what a person decided about an agent, also while it works.
func (k *Kernel) Order(ctx context.Context, a id.Agent, d history.Draft) (history.Entry, error) {
	if _, err := k.living(ctx, a); err != nil {
		return history.Entry{}, err
	}
	var entries []history.Entry
	err := k.insert(ctx, a, func(c agent.Claim) (err error) {
		entries, err = k.Store.Append(ctx, a, c, d)
		return err
	})
	if err != nil {
		return history.Entry{}, err
	}
	k.drafts.moved(a)
	k.Events.Publish(loop.Event{Type: loop.Recorded, Agent: a, Entry: &entries[0]})
	return entries[0], nil
}
