package gateway

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// model is a store in memory: one agent with a limit, and everybody below it.
type model struct {
	mu    sync.Mutex
	root  agent.Agent
	spent agent.Spending
	holds map[string]agent.Spending
}

func (m *model) allowance() registry.Allowance {
	l := registry.Allowance{Of: m.root, Budget: m.root.Budget, Spent: m.spent}
	for _, h := range m.holds {
		l.Held = l.Held.Plus(h)
	}
	return l
}

func (m *model) Allowances(context.Context, id.Agent) ([]registry.Allowance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []registry.Allowance{m.allowance()}, nil
}

func (m *model) Reserve(_ context.Context, h registry.Hold) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.allowance()
	if tokens, cost, bound, priced := l.Left(); bound && h.Worst.Tokens > tokens || priced && h.Worst.Cost > cost {
		return registry.Short{Allowance: l}
	}
	m.holds[h.ID] = h.Worst
	return nil
}

func (m *model) Settle(_ context.Context, hold string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.holds, hold)
	return nil
}

func (m *model) spend(s agent.Spending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = m.spent.Plus(s)
}

// 64 children share one budget and call as they like; some die in the middle of a call. In no
// schedule does the server count more than the budget.
func TestNoScheduleExceedsABudget(t *testing.T) {
	schedules := uint64(200)
	if testkit.SoakOn() {
		schedules = 10_000
	}
	for seed := range schedules {
		synctest.Test(t, func(t *testing.T) { schedule(t, seed) })
	}
}

func TestNoScheduleExceedsABudgetSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestNoScheduleExceedsABudget(t)
}

// schedule is one of them.
func schedule(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	limit := int64(2000 + r.IntN(200_000))
	m := &model{root: agent.Agent{ID: id.NewAgent(), Name: "root", Budget: agent.Budget{Tokens: agent.AtMost(limit)}}, holds: map[string]agent.Spending{}}
	p := NewReserver(m, "test")
	var mu sync.Mutex
	served := int64(0)
	var children sync.WaitGroup
	for n := range 64 {
		own := rand.New(rand.NewPCG(seed, uint64(n)+2))
		children.Go(func() {
			for range 1 + own.IntN(3) {
				c := Call{Agent: m.root.ID, Input: own.Int64N(5000), Output: 1 + own.Int64N(20_000)}
				c.Least = min(c.Output, 1+own.Int64N(4096))
				held, err := p.Reserve(t.Context(), c)
				if fault.Is(err, fault.BudgetExceeded) {
					return
				}
				if err != nil || held.Output < c.Least || held.Output > c.Output {
					t.Errorf("seed %d: %+v %v", seed, held, err)
					return
				}
				used := own.Int64N(c.Input + held.Output + 1)
				mu.Lock()
				if served += used; served > limit {
					t.Errorf("seed %d: %d served, %d allowed", seed, served, limit)
				}
				mu.Unlock()
				if own.IntN(10) == 0 {
					return // it dies: nobody writes what it used
				}
				m.spend(agent.Spending{Tokens: used})
				if err := held.Settle(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	children.Wait()
	if m.mu.Lock(); m.spent.Tokens > limit {
		t.Errorf("seed %d: %d written, %d allowed", seed, m.spent.Tokens, limit)
	}
	m.mu.Unlock()
}
