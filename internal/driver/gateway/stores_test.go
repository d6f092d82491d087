package gateway

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/store/postgres"
	"ramet/internal/store/sqlite"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// 64 children of two kernels share one budget in a real store, call as they like, and some die in the middle of a
// call: the server never counts more than the budget. One schedule each; 50 in make soak.
func TestNoScheduleExceedsABudgetInAStore(t *testing.T) {
	t.Parallel()
	schedules := uint64(1)
	if testkit.SoakOn() {
		schedules = 50
	}
	for name, open := range map[string]func(*testing.T) (*store.Store, error){
		"sqlite": func(t *testing.T) (*store.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ramet.db"), sqlite.Options{Cwd: "/"})
		},
		"postgres": func(t *testing.T) (*store.Store, error) {
			return postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{Cwd: "/"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			for seed := range schedules {
				storedSchedule(t, s, seed)
			}
		})
	}
}

func TestNoScheduleExceedsABudgetInAStoreSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestNoScheduleExceedsABudgetInAStore(t)
}

// family makes an agent with a limit and its children, and the limit.
func family(t *testing.T, s *store.Store, r *rand.Rand) (root id.Agent, children []id.Agent, limit int64) {
	t.Helper()
	zero, err := s.Zero(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limit = int64(2000 + r.IntN(200_000))
	root = id.NewAgent()
	bound := history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: &history.Budget{Tokens: &limit}}}
	if _, err := s.Fork(t.Context(), registry.Fork{Parent: zero.ID, Children: []registry.Child{{ID: root, Entries: []history.Draft{bound}}}}); err != nil {
		t.Fatal(err)
	}
	fork := registry.Fork{Parent: root}
	for range 64 {
		children = append(children, id.NewAgent())
		fork.Children = append(fork.Children, registry.Child{ID: children[len(children)-1]})
	}
	if _, err := s.Fork(t.Context(), fork); err != nil {
		t.Fatal(err)
	}
	return root, children, limit
}

// storedSchedule is one schedule in a store.
func storedSchedule(t *testing.T, s *store.Store, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	root, children, limit := family(t, s, r)
	var kernels [2]*Reserver
	for i, owner := range []string{"one", "other"} {
		kernels[i] = NewReserver(s, owner)
		// Calls whose process died are never settled: whoever waits for them is refused soon, and
		// that changes nothing of what is checked.
		kernels[i].most, kernels[i].again = 20*time.Millisecond, 5*time.Millisecond
	}
	var mu sync.Mutex
	served, calls := int64(0), 0
	var work sync.WaitGroup
	for n, child := range children {
		own := rand.New(rand.NewPCG(seed, uint64(n)+2))
		work.Go(func() {
			for range 1 + own.IntN(2) {
				c := Call{Agent: child, Input: own.Int64N(5000), Output: 1 + own.Int64N(20_000)}
				c.Least = min(c.Output, 1+own.Int64N(4096))
				held, err := kernels[n%2].Reserve(t.Context(), c)
				if fault.Is(err, fault.BudgetExceeded) {
					return
				}
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				used := own.Int64N(c.Input + held.Output + 1)
				mu.Lock()
				calls++
				if served += used; served > limit {
					t.Errorf("seed %d: %d served, %d allowed", seed, served, limit)
				}
				mu.Unlock()
				if own.IntN(10) == 0 {
					return // it dies: nobody writes what it used
				}
				wrote := history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{Model: "script/x", Outcome: "stop", Input: used, Attempts: 1}}}
				if _, err := s.Append(t.Context(), child, agent.Claim{}, wrote); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if err := held.Settle(t.Context()); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
	work.Wait()
	all, err := s.Allowances(t.Context(), root)
	if err != nil || len(all) != 1 {
		t.Fatalf("seed %d: %+v %v", seed, all, err)
	}
	if spent := all[0].Spent.Tokens; spent > limit || calls == 0 || served < spent {
		t.Errorf("seed %d: %d calls, %d written, %d served, %d allowed", seed, calls, spent, served, limit)
	}
}
