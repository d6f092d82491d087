package registry

import (
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/testkit"
)

func TestForksThatCannotBeCarriedOutAreRefused(t *testing.T) {
	child := func(name string) Child { return Child{ID: id.NewAgent(), Name: name} }
	long := strings.Repeat("x", 100_000)
	verbOnly := []history.Draft{{Kind: history.Killed}}
	for name, c := range map[string]struct {
		fork Fork
		want fault.Code // empty: it is accepted
	}{
		"one child":                {Fork{Children: []Child{child("ada")}}, ""},
		"two names":                {Fork{Children: []Child{child("ada"), child("bob")}}, ""},
		"two without a name":       {Fork{Children: []Child{child(""), child("")}}, ""},
		"no children":              {Fork{}, fault.Usage},
		"two with one name":        {Fork{Children: []Child{child("ada"), child("bob"), child("ada")}}, fault.Conflict},
		"a bad name":               {Fork{Children: []Child{child("a/b")}}, fault.InvalidName},
		"a bad id":                 {Fork{Children: []Child{{ID: "no"}}}, fault.InvalidID},
		"an entry of a verb":       {Fork{Children: []Child{child("ada")}, Entries: verbOnly}, fault.InvalidKind},
		"a child's entry":          {Fork{Children: []Child{{ID: id.NewAgent(), Entries: verbOnly}}}, fault.InvalidKind},
		"a run that is too long":   {Fork{Run: long, Children: []Child{child("ada")}}, fault.InvalidText},
		"an owner too long":        {Fork{Holder: long, Children: []Child{child("ada")}}, fault.InvalidText},
		"a model that is too long": {Fork{Children: []Child{{ID: id.NewAgent(), Model: long}}}, fault.InvalidText},
		"a folder too long":        {Fork{Children: []Child{child("bob"), {ID: id.NewAgent(), Cwd: long}}}, fault.InvalidText},
	} {
		err := c.fork.Check()
		if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestAnAccountIsCheckedAgainstItsHistory(t *testing.T) {
	five, none := int64(5), int64(0)
	account := func(t *testing.T) *desk {
		d := newDesk(t)
		d.write(t, 0, 12, history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{
			Input: 1, Output: 20, CacheRead: 300, CacheWrite: 4000, Reasoning: 7, Cost: 9}}})
		d.write(t, 0, 13, history.Draft{Kind: history.Command, Meta: history.Meta{Command: BudgetCommand, Budget: &history.Budget{Cost: &none}}})
		d.write(t, 0, 14, history.Draft{Kind: history.Command, Meta: history.Meta{Command: BudgetCommand, Budget: &history.Budget{Tokens: &five}}})
		d.write(t, 0, 15, history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{Output: 1}}})
		return d
	}
	d := account(t)
	want := agent.Agent{Spent: agent.Spending{Tokens: 4322, Cost: 9}, Budget: agent.Budget{Tokens: agent.AtMost(5)}}
	if a := d.agents[0]; a.Spent != want.Spent || a.Budget != want.Budget {
		t.Errorf("%+v %+v, want %+v %+v", a.Spent, a.Budget, want.Spent, want.Budget)
	}
	testkit.Must(d.audit(nil))(t)
	for what, harm := range map[string]func(*agent.Agent){
		"fewer tokens":      func(a *agent.Agent) { a.Spent.Tokens-- },
		"less money":        func(a *agent.Agent) { a.Spent.Cost = 0 },
		"a higher limit":    func(a *agent.Agent) { a.Budget.Tokens = agent.AtMost(6) },
		"no limit":          func(a *agent.Agent) { a.Budget = agent.Budget{} },
		"an earlier budget": func(a *agent.Agent) { a.Budget = agent.Budget{Cost: agent.AtMost(0)} },
	} {
		d := account(t)
		harm(&d.agents[0])
		if _, err := d.audit(nil); !fault.Is(err, fault.HistoryDamaged) || !strings.HasPrefix(err.Error(), place0(15)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
