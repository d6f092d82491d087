package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// testHolds: what is set aside counts in every limit above it, until it is given back.
func testHolds(t *testing.T, w *Workspace) {
	d := open(t, w)
	a := d.fork(d.zero, "a")[0].ID
	b := d.fork(a, "b")[0].ID
	side := d.fork(d.zero, "side")[0].ID
	hold := func(name string, who id.Agent, tokens, cost int64) error {
		return d.s.Reserve(background, registry.Hold{ID: name, Agent: who, Owner: "k", Worst: agent.Spending{Tokens: tokens, Cost: cost}})
	}
	short := func(err error) string {
		if s, ok := errors.AsType[registry.Short](err); ok {
			return s.Allowance.Of.Label()
		}
		return fmt.Sprint(err)
	}
	equal(t, "without limits", hold("free", b, 1<<40, 1<<40), nil)
	d.append(a, budget(100, -1))
	d.append(d.zero, budget(-1, 1000))
	equal(t, "it fits", hold("1", b, 60, 600), nil)
	equal(t, "the same again", hold("1", b, 60, 600), nil)
	equal(t, "too many tokens", short(hold("2", a, 41, 0)), "a")
	equal(t, "too much money, elsewhere", short(hold("2", side, 1, 401)), "0")
	equal(t, "beside it", hold("3", side, 1_000_000, 400), nil)
	equal(t, "held below a", testkit.Must(d.s.Held(background, a))(t), agent.Spending{Tokens: 60, Cost: 600})
	for _, l := range testkit.Must(d.s.Allowances(background, b))(t) {
		equal(t, "held of "+l.Of.Label(), l.Held, map[id.Agent]agent.Spending{a: {Tokens: 60, Cost: 600}, d.zero: {Tokens: 1_000_060, Cost: 1000}}[l.Of.ID])
	}
	d.append(b, usage(30, 300)) // what it came to, and then:
	equal(t, "given back", d.s.Settle(background, "1"), nil)
	equal(t, "twice", d.s.Settle(background, "1"), nil)
	equal(t, "what is left", short(hold("2", a, 71, 0)), "a")
	equal(t, "all that is left", hold("2", a, 70, 300), nil)
	refused(t, "an unknown agent", hold("4", id.NewAgent(), 1, 1), fault.NotFound)
	testkit.Must(d.s.Kill(background, registry.Kill{Agent: b}))(t)
	refused(t, "a dead one", hold("4", b, 0, 0), fault.DeadAgent)
}

// testSchedules: children share one budget and call at the same time; some die in the middle.
// What the server counted is never more than the budget.
func testSchedules(t *testing.T, w *Workspace) {
	d := open(t, w)
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		limit := 500 + r.Int64N(5000)
		root := d.fork(d.zero, fmt.Sprintf("root%d", seed))[0].ID
		d.append(root, budget(limit, -1))
		var mu sync.Mutex
		served := int64(0)
		var all sync.WaitGroup
		for n := range 4 {
			kid := d.fork(root, "")[0].ID
			own := rand.New(rand.NewPCG(seed, uint64(n)))
			all.Go(func() {
				for call := range 2 {
					worst := 1 + own.Int64N(2000)
					name := fmt.Sprintf("%d.%d.%d", seed, n, call)
					err := d.s.Reserve(background, registry.Hold{ID: name, Agent: kid, Owner: "k", Worst: agent.Spending{Tokens: worst}})
					if _, ok := errors.AsType[registry.Short](err); ok {
						continue
					}
					used := own.Int64N(worst + 1)
					mu.Lock()
					served += used
					mu.Unlock()
					if err != nil || own.IntN(8) == 0 {
						continue // it dies, and nobody writes what it used
					}
					if _, err = d.s.Append(background, kid, agent.Passing(), usage(used, 0)); err == nil {
						err = d.s.Settle(background, name)
					}
					if err != nil {
						t.Errorf("seed %d: %v", seed, err)
					}
				}
			})
		}
		all.Wait()
		if served > limit {
			t.Errorf("seed %d: %d served, %d allowed", seed, served, limit)
		}
	}
}
