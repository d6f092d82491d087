package session

import (
	"context"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/operation/public"
	"ramet/internal/run"
)

// Overview returns the facts about all agents, for the screens of all agents (public.MakeHome). What
// worktrees hold is looked up beside it: an event without an agent tells when there is more.
func (w Agents) Overview(ctx context.Context) (public.HomeFacts, error) {
	all, err := w.Everybody(ctx)
	if err != nil {
		return public.HomeFacts{}, err
	}
	f := public.HomeFacts{All: all.All, States: all.States}
	var living []agent.Agent
	for _, a := range all.All {
		if a.Status == agent.Running {
			living = append(living, a)
		}
	}
	if f.Words, err = w.ws.words.of(ctx, w.ws.Store, living); err != nil {
		return f, err
	}
	f.Changes = w.ws.changes.of(ctx, w.ws, living)
	f.Runs = w.progress(ctx, living)
	return f, nil
}

// spoken remembers the newest words of agents: who has the same newest entry said nothing new.
type spoken struct {
	mu    sync.Mutex
	known map[id.Agent]spokenAt
}

type spokenAt struct {
	head  id.Message
	words registry.Words
}

func (s *spoken) of(ctx context.Context, from registry.Speakers, agents []agent.Agent) (map[id.Agent]registry.Words, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[id.Agent]registry.Words, len(agents))
	kept := make(map[id.Agent]spokenAt, len(agents))
	var stale []id.Agent
	heads := map[id.Agent]id.Message{}
	for _, a := range agents {
		if had, ok := s.known[a.ID]; ok && had.head == a.Head {
			out[a.ID], kept[a.ID] = had.words, had
			continue
		}
		stale, heads[a.ID] = append(stale, a.ID), a.Head
	}
	read, err := from.Words(ctx, stale...)
	if err != nil {
		return nil, err
	}
	for a, words := range read {
		out[a], kept[a] = words, spokenAt{heads[a], words}
	}
	s.known = kept
	return out, nil
}

// progress returns the progress of the runs whose agents live. What cannot be read is left out: run
// show reports the error.
func (w Agents) progress(ctx context.Context, living []agent.Agent) map[id.Agent]public.HomeRun {
	out := map[id.Agent]public.HomeRun{}
	own := map[id.Agent]bool{}
	for _, a := range living {
		if strings.HasPrefix(a.Name, RunName) {
			own[a.ID] = true
		}
	}
	if len(own) == 0 || w.ws.runs == nil {
		return out
	}
	runs, err := w.ws.runs()
	if err != nil {
		return out
	}
	ids, _ := runs.List()
	for _, runID := range ids {
		uuid, ok, err := runs.Agent(runID)
		if err != nil || !ok || !own[id.Agent(uuid)] {
			continue
		}
		r, err := runs.Open(ctx, runID, "")
		if err != nil {
			continue
		}
		now, err := r.State(ctx)
		r.Close() // it only read
		if err == nil {
			out[id.Agent(uuid)] = progressOf(now)
		}
	}
	return out
}

func progressOf(s run.Snapshot) public.HomeRun {
	p := public.HomeRun{ID: s.RunID, State: string(s.RunState), Of: len(s.WorkItems)}
	for _, item := range s.WorkItems {
		if item.Status == run.Completed || item.Status == run.ItemSkipped {
			p.Done++
		}
	}
	return p
}
