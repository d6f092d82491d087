package kernel

import (
	"context"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/turn/loop"
)

// append writes entries, tells of them and takes them into the conversation.
func (p *agentProcess) append(ctx context.Context, claim agent.Claim, drafts ...history.Draft) error {
	entries, err := p.kernel.record(ctx, p.id, claim, drafts...)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p.kernel.Events.Publish(loop.Event{Type: loop.Recorded, Agent: p.id, Entry: &e})
	}
	fresh, err := p.talk.Add(ctx, entries...)
	if err != nil {
		return err
	}
	if fresh {
		return nil
	}
	p.talk = nil
	a, err := p.kernel.Store.Agent(ctx, p.id)
	if err != nil {
		return err
	}
	return p.recall(ctx, a)
}

// inherited returns the context that a child begins with, from memory; nil if only the history has it. If the parent
// continued since the last fork, only new entries are read: ten thousand forks don't read ten thousand entries each.
func (k *Kernel) inherited(ctx context.Context, a agent.Agent) (*loop.Conversation, error) {
	if talk, ok := k.memory.get(a.Parent, a.ForkMessage); ok {
		return talk, nil
	}
	forgot := k.forgot.Load()
	talk, upTo, ok := k.memory.newest(a.Parent)
	if !ok || upTo > a.ForkMessage {
		return nil, nil
	}
	for e, err := range k.Store.QueryRange(ctx, history.Range{Agent: a.Parent, Start: upTo, End: history.UpTo(a.ForkMessage)}, history.Selection{}) {
		if err != nil {
			return nil, err
		}
		if fresh, err := talk.Add(ctx, e); err != nil || !fresh {
			return nil, err
		}
	}
	out, ok := talk.Fork(a.ForkMessage)
	if !ok || k.forgot.Load() != forgot {
		return nil, nil
	}
	k.memory.put(a.Parent, talk, a.ForkMessage)
	return out, nil
}

// Forget drops everything remembered: a redaction took content away. Turns that
// are under way go on with what their model has seen.
func (k *Kernel) Forget() {
	k.forgot.Add(1)
	k.mu.Lock()
	for _, was := range k.idle {
		was.talk, was.legacy = nil, nil
	}
	k.mu.Unlock()
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	k.memory.parents, k.memory.order = nil, nil
}

// recall makes the conversation that of the agent as it is now: what is in memory
// and the entries since, or a replay.
func (p *agentProcess) recall(ctx context.Context, a agent.Agent) error {
	k := p.kernel
	k.mu.Lock()
	legacy := p.legacy
	p.legacy = nil
	k.mu.Unlock()
	if now := k.forgot.Load(); now != p.forgot {
		p.talk, legacy, p.forgot = nil, nil, now
	}
	if p.talk == nil {
		p.talk = legacy
	}
	if p.talk == nil && !a.IsZero() {
		var err error
		if p.talk, err = k.inherited(ctx, a); err != nil {
			return err
		}
	}
	if p.talk != nil && p.talk.Last() == a.Head {
		return nil // nobody wrote since
	}
	if p.talk != nil {
		entries, err := since(ctx, k.Store, p.id, p.talk.Last())
		if err != nil {
			return err
		}
		fresh, err := p.talk.Add(ctx, entries...)
		if err != nil || fresh {
			return err
		}
	}
	talk, err := k.restore(ctx, p.id)
	if err != nil {
		return err
	}
	if p.talk = talk; a.IsZero() {
		return nil
	}
	if prefix, ok := p.talk.Fork(a.ForkMessage); ok {
		k.memory.put(a.Parent, prefix, a.ForkMessage)
	}
	return nil
}

// restore reads the conversation of an agent as it is at one moment.
func (k *Kernel) restore(ctx context.Context, a id.Agent) (*loop.Conversation, error) {
	var c *history.Context
	err := k.Store.View(ctx, func(log history.Log) (err error) {
		c, err = history.Recall(ctx, log, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return loop.NewConversation(ctx, c, k.Store.Blob)
}
