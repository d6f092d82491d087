package runner

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/kernel"
	"ramet/internal/kernel/process"
	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/tool"
)

// agentAttempt is an item that is being done by an agent.
type agentAttempt struct {
	item         Attempt
	orchestrator Orchestrator
	agent        id.Agent
	calls        CallSequence
	over         atomic.Bool

	// Of the one goroutine that does the item.
	entered bool      // the ledger has it
	dead    bool      // the agent ended with its turn
	held    time.Time // since when the kernel has the agent's lease; zero: it has not
}

// reading limits how long it may take to find the item of an agent.
const reading = 30 * time.Second

func (c *WorkerPool) openAttempt(s *agentAttempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts[s.agent] = s
	c.runs[id.Agent(s.item.Agent)] = true
}

// closeAttempt takes an attempt out.
func (c *WorkerPool) closeAttempt(s *agentAttempt) {
	s.over.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.attempts, s.agent)
}

// at finds what is known of an agent here: its item, or that it is a run's own.
func (c *WorkerPool) at(a id.Agent) (s *agentAttempt, run bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts[a], c.runs[a]
}

// find finds the item that an agent works on: its own, or that of an ancestor; path leads
// from the item's agent down to it. inRun: it is below a run and works on none.
func (c *WorkerPool) find(ctx context.Context, a agent.Agent) (s *agentAttempt, path []id.Agent, inRun bool, err error) {
	c.mu.Lock()
	idle := len(c.runs) == 0
	c.mu.Unlock()
	if idle {
		return nil, nil, false, nil
	}
	for at := a; ; {
		s, run := c.at(at.ID)
		if s != nil || run {
			slices.Reverse(path)
			return s, path, run, nil
		}
		if at.IsZero() {
			return nil, nil, false, nil
		}
		path = append(path, at.ID)
		if at, err = c.Store.Agent(ctx, at.Parent); err != nil {
			return nil, nil, false, err
		}
	}
}

// Belongs reports whether an agent works on an item, for itself or for an ancestor.
func (c *WorkerPool) Belongs(a agent.Agent) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	s, _, _, err := c.find(ctx, a)
	return s != nil, err
}

// Model records the calls of the model of an agent that works on an item, and leaves
// others as they are. An agent below a run that works on no item is refused: its
// calls would be in no log.
func (c *WorkerPool) Model(a agent.Agent, m kernel.Model) (kernel.Model, error) {
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	s, path, inRun, err := c.find(ctx, a)
	switch {
	case err != nil:
		return kernel.Model{}, err
	case inRun:
		return kernel.Model{}, fault.New(fault.Denied, "agent %s belongs to a run and works on none of its items", a.Label()).
			WithHint("calls of a run's agents must be in its log; fork another agent to talk to")
	case s == nil:
		return m, nil
	}
	lane, err := c.lane(ctx, s.agent, path)
	if err != nil {
		return kernel.Model{}, err
	}
	if m.Foreign != nil {
		if m.Foreign, err = c.driven(s, lane, m); err != nil {
			return kernel.Model{}, err
		}
		return m, nil
	}
	for i, other := range m.Others {
		m.Others[i] = c.recordCalls(s, lane, a, other)
	}
	return c.recordCalls(s, lane, a, m), nil
}

// recordCalls records the calls of one model.
func (c *WorkerPool) recordCalls(s *agentAttempt, lane string, a agent.Agent, m kernel.Model) kernel.Model {
	o := RecorderOptions{Item: s.item, Reporter: s.orchestrator, Sequence: &s.calls, Lane: lane, Agent: string(a.ID), Vendor: m.Ref.Vendor,
		MaxTokens: m.Info.Output, Cache: c.Cache, Redact: c.Redact, Now: c.Now,
		Price: func(string) (llm.Price, bool) { return c.price(m) }}
	if c.BaseURL != nil {
		o.BaseURL = c.BaseURL(m.Ref)
	}
	taped := NewRecorder(m.Provider, o)
	m.Provider = llm.Func(func(ctx context.Context, r llm.Request) iter.Seq[llm.Event] {
		if s.over.Load() {
			return func(yield func(llm.Event) bool) {
				yield(llm.Fail(fault.New(fault.Denied, "the item %s is over", s.item.ID)))
			}
		}
		return taped.Stream(ctx, r)
	})
	return m
}

func (c *WorkerPool) price(m kernel.Model) (llm.Price, bool) {
	if c.Price != nil {
		return c.Price(m.Ref, m.Info)
	}
	free := m.Ref.Vendor == "offline" || m.Ref.Vendor == "script"
	return m.Info.Price, free || m.Info.Price != llm.Price{}
}

// lane is the way from an item's agent down to one that works for it: each step is the
// number of a child among those of its parent, which the parent's history has.
func (c *WorkerPool) lane(ctx context.Context, from id.Agent, path []id.Agent) (string, error) {
	lane := ""
	for _, child := range path {
		n, found := 0, false
		for e, err := range c.Store.QueryRange(ctx, history.Range{Agent: from, End: history.NoLimit}, history.Selection{}) {
			if err != nil {
				return "", err
			}
			if e.Kind != history.Fork {
				continue
			}
			m, err := e.Decode()
			if err != nil {
				return "", err
			}
			if i := slices.Index(m.Children, child); i >= 0 {
				n, found = n+i+1, true
				break
			}
			n += len(m.Children)
		}
		if !found {
			return "", fault.New(fault.HistoryDamaged, "the history of agent %s does not tell of its child %s", from, child)
		}
		lane, from = ChildLane(lane, n), child
	}
	return lane, nil
}

// Tools leaves those tools that the task of an agent names; others keep all.
func (c *WorkerPool) Tools(a agent.Agent, all tool.Box) tool.Box {
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	s, _, inRun, err := c.find(ctx, a)
	if err != nil || inRun {
		return nil // Model says why
	}
	if s == nil {
		return all
	}
	var out tool.Box
	for _, t := range all {
		if _, narrows := t.(tool.Narrower); narrows {
			out = append(out, t)
		} else if slices.Contains(s.item.Task.Tools, tool.NameOf(t)) {
			out = append(out, tool.Tell(t))
		}
	}
	return out
}

// Guard permits the calls of agents that work on items, which no person watches: files can be
// changed in their own folder, and commands run inside the sandbox or not at all. Calls of
// others are next's to decide.
func (c *WorkerPool) Guard(next loop.Guard) loop.Guard { return &guard{c, next} }

type guard struct {
	pool *WorkerPool
	next loop.Guard
}

func (g *guard) Decide(ctx context.Context, spec tool.Spec, call tool.Call) (tool.Grant, *history.Permission, error) {
	s, run := g.pool.at(call.Agent)
	if s == nil && !run {
		a, err := g.pool.Store.Agent(ctx, call.Agent)
		if err != nil {
			return "", nil, err
		}
		if s, _, run, err = g.pool.find(ctx, a); err != nil {
			return "", nil, err
		}
	}
	switch {
	case s == nil && !run:
		return g.next.Decide(ctx, spec, call)
	case s != nil && !s.over.Load() && s.item.Task.Driver != "" && mayAsk(s.item.Task.Tools, spec):
		return tool.Confine, g.record(spec), nil // all of the program is confined
	case s == nil || s.over.Load() || spec.Name != process.RecallName && !slices.Contains(s.item.Task.Tools, spec.Name):
		return "", nil, fault.New(fault.Denied, "%s is not a tool of this task", spec.Name)
	case spec.Access != tool.Commands:
		return tool.Free, g.record(spec), nil
	}
	if err := sandbox.Available(); err != nil {
		return "", nil, fault.New(fault.Denied, "there is no sandbox to run commands of a run in: %w", err)
	}
	return tool.Confine, g.record(spec), nil
}

// record returns a permission that the rules of runs gave.
func (g *guard) record(spec tool.Spec) *history.Permission {
	if spec.Access == tool.Reads || spec.Access == tool.Processes {
		return nil
	}
	return &history.Permission{Answer: history.Allowed, By: history.ByMode, Mode: "run", Confined: spec.Access == tool.Commands, At: history.Moment(time.Now())}
}
