package kernel

import (
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/turn/loop"
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
