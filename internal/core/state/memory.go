package state

import (
	"context"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// Memory remembers how histories end, for those who look again and again: what has the same
// newest entry ends the same. The zero Memory knows nothing. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	known map[id.Agent]remembered
}

type remembered struct {
	head   id.Message
	ending Ending
}

// many is from how many on it is cheaper to read all.
const many = 256

// endings returns how the histories of these agents end. Their rows were read before.
func (m *Memory) endings(ctx context.Context, s Store, agents []agent.Agent) (map[id.Agent]Ending, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var stale []id.Agent
	dead := false
	out := make(map[id.Agent]Ending, len(agents))
	for _, a := range agents {
		if had, ok := m.known[a.ID]; ok && had.head == a.Head {
			out[a.ID] = had.ending
			continue
		}
		stale = append(stale, a.ID)
		dead = dead || a.Status == agent.Dead
	}
	if len(stale) == 0 {
		return out, nil
	}
	only := stale
	if len(stale) > many {
		only = nil
	}
	read, err := s.Endings(ctx, dead, only...)
	if err != nil {
		return nil, err
	}
	if m.known == nil {
		m.known = map[id.Agent]remembered{}
	}
	for _, a := range agents {
		if e, ok := read[a.ID]; ok || a.Head == a.Genesis { // or it has said nothing
			out[a.ID], m.known[a.ID] = e, remembered{a.Head, e}
		}
	}
	return out, nil
}
