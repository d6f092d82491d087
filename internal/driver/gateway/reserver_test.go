package gateway

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
)

func newModel(b agent.Budget) *model {
	return &model{root: agent.Agent{ID: id.NewAgent(), Name: "root", Budget: b}, holds: map[string]agent.Spending{}}
}

// One that does not fit because of others waits for them, and those behind it wait for it.
func TestWhoDoesNotFitWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(agent.Budget{Tokens: agent.AtMost(100)})
		p := NewReserver(m, "test")
		first := testkit.Must(p.Reserve(t.Context(), Call{Input: 60, Output: 20, Least: 20}))(t)
		type result struct {
			who  string
			held *Held
			err  error
		}
		got := make(chan result, 2)
		ask := func(who string, c Call) {
			held, err := p.Reserve(t.Context(), c)
			got <- result{who, held, err}
		}
		go ask("large", Call{Input: 50, Output: 20, Least: 20})
		synctest.Wait()
		go ask("small", Call{Input: 5, Output: 5, Least: 5}) // it would fit, but came later
		synctest.Wait()
		m.spend(agent.Spending{Tokens: 10})
		testkit.OK(t, first.Settle(t.Context()))
		if a := <-got; a.who != "large" || a.err != nil || a.held.Output != 20 {
			t.Errorf("%+v", a)
		}
		if b := <-got; b.who != "small" || b.err != nil {
			t.Errorf("%+v", b)
		}
	})
}

// What cannot fit whatever others come to is refused at once, and says whose limit it is.
func TestWhatCannotFitIsRefusedAtOnce(t *testing.T) {
	price := llm.Price{Input: 3_000, Output: 15_000}
	for _, c := range []struct {
		what   string
		budget agent.Budget
		call   Call
		output int64 // 0: refused
		says   string
	}{
		{"it fits", agent.Budget{Tokens: agent.AtMost(100)}, Call{Input: 10, Output: 90, Least: 90}, 90, ""},
		{"lowered", agent.Budget{Tokens: agent.AtMost(100)}, Call{Input: 10, Output: 900, Least: 40}, 40, ""},
		{"lowered to a part of what is left", agent.Budget{Tokens: agent.AtMost(490)}, Call{Input: 10, Output: 900, Least: 40}, 120, ""},
		{"too much to read", agent.Budget{Tokens: agent.AtMost(100)}, Call{Input: 99, Output: 900, Least: 40}, 0, "100 more tokens, and the next call can take 139"},
		{"nothing left", agent.Budget{Tokens: agent.AtMost(0)}, Call{Output: 900, Least: 40}, 0, "used up their budget: 0 of 0 tokens"},
		{"money", agent.Budget{Cost: agent.AtMost(6_000 + 1_500)}, Call{Input: 1000, Output: 500, Least: 100, Price: price, Priced: true}, 100, ""},
		{"not enough money", agent.Budget{Cost: agent.AtMost(6_000 + 1_499)}, Call{Input: 1000, Output: 500, Least: 100, Price: price, Priced: true}, 0, "can cost"},
		{"no price", agent.Budget{Cost: agent.AtMost(1 << 40)}, Call{Model: "x/y", Output: 1, Least: 1}, 0, "the price of x/y is unknown"},
		{"free", agent.Budget{Cost: agent.AtMost(1)}, Call{Input: 5, Output: 7, Least: 1, Priced: true}, 7, ""},
	} {
		p := NewReserver(newModel(c.budget), "test")
		p.most = time.Hour
		held, err := p.Reserve(t.Context(), c.call)
		switch {
		case c.output == 0 && (!fault.Is(err, fault.BudgetExceeded) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v", c.what, err)
		case c.output != 0 && (err != nil || held.Output != c.output):
			t.Errorf("%s: %+v %v, want %d", c.what, held, err, c.output)
		}
	}
}

// A refusal says what is set aside, of calls under way and of those whose process died: nothing else tells where a
// budget went that nobody spent.
func TestARefusalSaysWhatIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, b := range map[string]agent.Budget{"90 tokens are reserved": {Tokens: agent.AtMost(100)}, "is reserved for calls": {Cost: agent.AtMost(2_000_000)}} {
			p := NewReserver(newModel(b), "test")
			call := Call{Input: 90, Priced: true, Price: llm.Price{Input: 10_000_000}}
			testkit.Must(p.Reserve(t.Context(), call))(t)
			_, err := p.Reserve(t.Context(), call)
			if f, ok := fault.Of(err); !ok || !strings.Contains(f.Hint, want) {
				t.Errorf("%v", err)
			}
		}
	})
}

// Whoever goes away while it waits holds nothing, and lets others go on.
func TestWhoGoesAwayWhileItWaitsLeavesTheQueue(t *testing.T) {
	m := newModel(agent.Budget{Tokens: agent.AtMost(10)})
	p := NewReserver(m, "test")
	testkit.Must(p.Reserve(t.Context(), Call{Input: 10}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if held, err := p.Reserve(ctx, Call{Input: 5}); err == nil || held != nil {
		t.Errorf("%+v %v", held, err)
	}
	if len(p.turn) > 0 {
		t.Error("it still waits")
	}
}
