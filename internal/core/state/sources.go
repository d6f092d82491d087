package state

import (
	"context"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
)

// Store reads a workspace.
type Store interface {
	// Leased lists the agents that are held, or were; and the database's time.
	Leased(ctx context.Context) ([]agent.Agent, time.Time, error)
	// Endings reads how histories end: of those named, else of the living, and of the
	// dead too where all is set. Living agents that were not named and have said nothing since
	// their birth are left out: the zero Ending is theirs. Of the dead whom others ended before they
	// were over, what was before that may be left out: it tells nothing any more. An agent that was forked with foreign
	// content in its context is never left out.
	Endings(ctx context.Context, all bool, only ...id.Agent) (map[id.Agent]Ending, error)
}

// Sources finds the states of a workspace's agents.
type Sources struct {
	Store Store
	// Gone reports whether the kernel of that name is known to be dead.
	Gone func(owner string) bool
	// Here is the name of the kernel of this process, and what its agents do; may be nil.
	Owner string
	Here  func() map[id.Agent]State
	// Kernels are all that can be asked, whether or not they hold an agent: commands may run
	// for an idle one. nil: unknown.
	Kernels func() []string
	// There asks another kernel; ok is false where it cannot be asked. nil: none can.
	There func(ctx context.Context, owner string) (doing map[id.Agent]State, ok bool)
}

// Now is everything that is known at one moment.
type Now struct {
	held    map[id.Agent]Holder
	doing   map[id.Agent]State
	endings map[id.Agent]Ending
}

// Look finds out about the living, or about all, or about those that are named.
func (s Sources) Look(ctx context.Context, all bool, only ...id.Agent) (Now, error) {
	n, err := s.held(ctx)
	if err != nil {
		return Now{}, err
	}
	// Last: a process that was at work a moment ago has written how that ended by now.
	n.endings, err = s.Store.Endings(ctx, all, only...)
	return n, err
}

// Again finds out about agents whose rows were just read, with what is remembered.
func (s Sources) Again(ctx context.Context, agents []agent.Agent, m *Memory) (Now, error) {
	n, err := s.held(ctx)
	if err != nil {
		return Now{}, err
	}
	n.endings, err = m.endings(ctx, s.Store, agents)
	return n, err
}

// held finds out who works.
func (s Sources) held(ctx context.Context) (Now, error) {
	leased, at, err := s.Store.Leased(ctx)
	if err != nil {
		return Now{}, err
	}
	n := Now{held: map[id.Agent]Holder{}, doing: map[id.Agent]State{}}
	others := map[string]bool{}
	left := agent.OwnersGone(at, s.Gone)
	for _, a := range leased {
		switch owner := a.Lease.Owner; {
		case left(a.Lease):
			n.held[a.ID] = Gone
		default:
			n.held[a.ID] = Kernel
			if owner != s.Owner {
				others[owner] = true
			}
		}
	}
	if s.Kernels != nil {
		asked := map[string]bool{instanceOf(s.Owner): true}
		for owner := range others {
			asked[instanceOf(owner)] = true
		}
		for _, owner := range s.Kernels() {
			if !asked[instanceOf(owner)] {
				others[owner] = true
			}
		}
	}
	s.ask(ctx, others, n.doing)
	if s.Here != nil {
		for a, doing := range s.Here() {
			n.doing[a] = doing
		}
	}
	return n, nil
}

// instanceOf returns the part of an owner that identifies its kernel.
func instanceOf(owner string) string { return owner[strings.LastIndexByte(owner, ':')+1:] }

// ask asks other kernels, side by side.
func (s Sources) ask(ctx context.Context, owners map[string]bool, into map[id.Agent]State) {
	if s.There == nil {
		return
	}
	var asked sync.WaitGroup
	var mu sync.Mutex
	for owner := range owners {
		asked.Go(func() {
			doing, ok := s.There(ctx, owner)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for a, d := range doing {
				into[a] = d
			}
		})
	}
	asked.Wait()
}

// Of returns the state of an agent.
func (n Now) Of(a agent.Agent) State {
	return Of(a, n.held[a.ID], n.doing[a.ID], n.endings[a.ID])
}

// Held reports whether a kernel holds an agent, or held it when it ended.
func (n Now) Held(a id.Agent) Holder { return n.held[a] }

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
