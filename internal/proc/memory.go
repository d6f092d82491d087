package proc

import (
	"context"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/history"
	"ramet/internal/id"
	"ramet/internal/loop"
)

// memory shares conversations between the children of one parent: the newest
// conversation of each parent that a child was restored from, up to its fork
// point. It is a cache of replay; what it holds never changes.
type memory struct {
	mu      sync.Mutex
	parents map[id.Agent]remembered
	order   []id.Agent // oldest first
}

// remembered is a conversation that is whole up to an entry. That need not be a
// message: a turn ends with what it cost, and the conversation does not know of it.
type remembered struct {
	talk *loop.Conversation
	upTo id.Message
}

// maxParents bounds how many parents are remembered.
const maxParents = 32

func (m *memory) get(parent id.Agent, at id.Message) (*loop.Conversation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.parents[parent]
	if known.talk == nil || known.upTo < at {
		return nil, false
	}
	return known.talk.Fork(at)
}

func (m *memory) put(parent id.Agent, c *loop.Conversation, upTo id.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parents == nil {
		m.parents = map[id.Agent]remembered{}
	}
	if m.parents[parent].talk == nil {
		m.order = append(m.order, parent)
		if len(m.order) > maxParents {
			delete(m.parents, m.order[0])
			m.order = m.order[1:]
		}
	}
	m.parents[parent] = remembered{c, upTo}
}

// newest is the conversation of a parent as far as it is remembered, and how far
// that is.
func (m *memory) newest(parent id.Agent) (*loop.Conversation, id.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.parents[parent]
	if known.talk == nil {
		return nil, 0, false
	}
	talk, ok := known.talk.Fork(known.upTo)
	return talk, known.upTo, ok
}

// inherited is what is remembered of the context that a child begins with; nil where
// only the history knows it. Of a parent that has gone on since the last fork only what
// is new is read: who forks ten thousand times does not read ten thousand forks each time.
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
	k.memory.mu.Lock()
	defer k.memory.mu.Unlock()
	k.memory.parents, k.memory.order = nil, nil
}

// recall makes the conversation that of the agent as it is now: what is in memory
// and the entries since, or a replay.
func (p *process) recall(ctx context.Context, a agent.Agent) error {
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
	var reader *loop.Reader
	var outline history.Outline
	err := k.Store.View(ctx, func(log history.Log) (err error) {
		reader = loop.NewReader()
		outline, err = history.Recall(ctx, log, a, reader.Take)
		return err
	})
	if err != nil {
		return nil, err
	}
	return reader.Conversation(ctx, &outline, k.Store.Blob)
}
