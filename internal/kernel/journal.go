package kernel

import (
	"context"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
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

// since reads own entries of an agent that are newer than one.
func since(ctx context.Context, log history.Log, a id.Agent, after id.Message) ([]history.Entry, error) {
	var out []history.Entry
	for e, err := range log.QueryRange(ctx, history.Range{Agent: a, Start: after, End: history.NoLimit}, history.Selection{}) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// flushEvery limits the age of the newest words on disk, a little below the promised second.
const flushEvery = 500 * time.Millisecond

// drafts are the replies that are being streamed. One writer keeps them all, in
// one transaction, twice a second.
type drafts struct {
	kernel *Kernel

	mu   sync.Mutex
	open map[id.Agent]*draft
}

type draft struct {
	claim agent.Claim
	text  func() string
	after id.Message // newest own entry when the reply began; 0: not asked yet
	dirty bool
}

func (d *drafts) put(a id.Agent, claim agent.Claim, text func() string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[id.Agent]*draft{}
	}
	one := d.open[a]
	if one == nil {
		one = &draft{claim: claim}
		d.open[a] = one
	}
	one.text, one.dirty = text, true
}

// forget ends a reply: an entry is about to take its place.
func (d *drafts) forget(a id.Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, a)
}

// moved records that another entry was written during the agent's reply, so the reply now follows that entry.
func (d *drafts) moved(a id.Agent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.open[a]; one != nil {
		one.after, one.dirty = 0, true
	}
}

func (d *drafts) flushAll() {
	d.kernel.every(flushEvery, func() {
		if err := d.flush(d.kernel.ctx); err != nil {
			d.kernel.trouble(d.kernel.ctx, "keep the replies that are being streamed", err)
		}
	})
}

// flush writes what is new. A reply counts as long as the newest entry of its
// agent is the one that it began behind; so that entry is asked for once, and must
// not have changed while it was.
func (d *drafts) flush(ctx context.Context) error {
	d.mu.Lock()
	var todo []id.Agent
	for a, one := range d.open {
		if one.dirty {
			todo = append(todo, a)
		}
	}
	d.mu.Unlock()
	var replies []registry.Reply
	for _, a := range todo {
		reply, ok, err := d.reply(ctx, a)
		if err != nil {
			return err
		}
		if ok {
			replies = append(replies, reply)
		}
	}
	if len(replies) == 0 {
		return nil
	}
	err := d.kernel.Store.KeepReplies(ctx, replies)
	if err == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range replies { // they are kept with the next ones
		if one := d.open[r.Agent]; one != nil {
			one.dirty = true
		}
	}
	return err
}

func (d *drafts) reply(ctx context.Context, a id.Agent) (registry.Reply, bool, error) {
	d.mu.Lock()
	one := d.open[a]
	known := one != nil && one.after != 0
	d.mu.Unlock()
	if one == nil {
		return registry.Reply{}, false, nil
	}
	var head id.Message
	if !known {
		found, err := d.kernel.Store.Agent(ctx, a)
		if err != nil {
			return registry.Reply{}, false, err
		}
		head = found.Head
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[a] != one { // it ended meanwhile, and the head may be its own entry
		return registry.Reply{}, false, nil
	}
	if !known {
		one.after = head
	}
	one.dirty = false
	return registry.Reply{Agent: a, Claim: one.claim, After: one.after, Text: one.text()}, true, nil
}
