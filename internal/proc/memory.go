package proc

import (
	"context"
	"sync"

	"ramet/internal/agent"
	"ramet/internal/id"
	"ramet/internal/loop"
)

// memory shares conversations between the children of one parent: the newest
// conversation of each parent that a child was restored from, up to its fork
// point. It is a cache of replay; what it holds never changes.
type memory struct {
	mu      sync.Mutex
	parents map[id.Agent]*loop.Conversation
	order   []id.Agent // oldest first
}

// maxParents bounds how many parents are remembered.
const maxParents = 32

func (m *memory) get(parent id.Agent, at id.Message) (*loop.Conversation, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.parents[parent]
	if c == nil || c.Last() < at {
		return nil, false
	}
	return c.Fork(at)
}

func (m *memory) put(parent id.Agent, c *loop.Conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parents == nil {
		m.parents = map[id.Agent]*loop.Conversation{}
	}
	if m.parents[parent] == nil {
		m.order = append(m.order, parent)
		if len(m.order) > maxParents {
			delete(m.parents, m.order[0])
			m.order = m.order[1:]
		}
	}
	m.parents[parent] = c
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
		p.talk, _ = k.memory.get(a.Parent, a.ForkMessage)
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
	c, err := replay(ctx, k.Store, p.id)
	if err != nil {
		return err
	}
	p.talk, err = loop.NewConversation(ctx, c, k.Store.Blob)
	if err != nil || a.IsZero() {
		return err
	}
	if prefix, ok := p.talk.Fork(a.ForkMessage); ok {
		k.memory.put(a.Parent, prefix)
	}
	return nil
}
