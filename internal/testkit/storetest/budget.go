package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// usage drafts a call that used so many tokens and so much money.
func usage(tokens, cost int64) history.Draft {
	return history.Draft{Kind: history.Usage, Meta: history.Meta{Call: &history.Call{Model: "script/x", Outcome: "stop",
		Input: tokens - tokens/2, Output: tokens/2 - tokens/4, CacheRead: tokens/4 - tokens/8, CacheWrite: tokens / 8,
		Reasoning: tokens / 4, Cost: cost, Priced: true, Attempts: 1}}}
}

// budget drafts limits; below 0 is none.
func budget(tokens, cost int64) history.Draft {
	b := &history.Budget{}
	if tokens >= 0 {
		b.Tokens = &tokens
	}
	if cost >= 0 {
		b.Cost = &cost
	}
	return history.Draft{Kind: history.Command, Meta: history.Meta{Command: registry.BudgetCommand, Budget: b}}
}

// limits is the budget that such a draft sets.
func limits(tokens, cost int64) (b agent.Budget) {
	if tokens >= 0 {
		b.Tokens = agent.AtMost(tokens)
	}
	if cost >= 0 {
		b.Cost = agent.AtMost(cost)
	}
	return b
}

func testSpending(t *testing.T, w *Workspace) {
	d := open(t, w)
	model := func(what string, a id.Agent, want string) {
		t.Helper()
		row := d.agent(a)
		equal(t, what, row.Provider+"/"+row.Model, want)
	}
	d.append(d.zero, registry.ModelEntry("acme", "large"))
	model("told a model", d.zero, "acme/large")
	heir := d.fork(d.zero, "")[0]
	model("its child", heir.ID, "acme/large")
	d.append(d.zero, registry.ModelEntry("acme", "small"))
	model("told another", d.zero, "acme/small")
	model("the child, told nothing", heir.ID, "acme/large")
	if _, err := d.s.Append(background, d.zero, agent.Claim{}, registry.ModelEntry("acme", "")); !fault.Is(err, fault.InvalidEvent) {
		t.Errorf("a model without a name: %v", err)
	}
	account := func(what string, a id.Agent, s agent.Spending, b agent.Budget) {
		t.Helper()
		equal(t, what+": spent", d.agent(a).Spent, s)
		equal(t, what+": budget", d.agent(a).Budget, b)
	}
	account("agent 0", d.zero, agent.Spending{}, agent.Budget{})
	d.append(d.zero, usage(100, 7), text(history.Assistant, "x"), usage(23, 0))
	account("two calls", d.zero, agent.Spending{Tokens: 123, Cost: 7}, agent.Budget{})
	d.append(d.zero, history.Draft{Kind: history.Usage})
	account("a usage without a call", d.zero, agent.Spending{Tokens: 123, Cost: 7}, agent.Budget{})
	d.append(d.zero, budget(1000, -1))
	account("a limit of tokens", d.zero, agent.Spending{Tokens: 123, Cost: 7}, limits(1000, -1))
	d.append(d.zero, budget(-1, 0), usage(1, 1))
	account("another takes its place", d.zero, agent.Spending{Tokens: 124, Cost: 8}, limits(-1, 0))
	d.append(d.zero, budget(5, 6))
	// A child is born with nothing of it, except what it brings itself.
	kids := children("plain", "rich")
	kids[1].Entries = []history.Draft{usage(50, 5), budget(77, 88), history.NewClear(), usage(1, 1)}
	born := testkit.Must(d.s.Fork(background, registry.Fork{Parent: d.zero, Children: kids, Entries: []history.Draft{usage(1000, 1000)}}))(t)
	account("the parent", d.zero, agent.Spending{Tokens: 1124, Cost: 1008}, limits(5, 6))
	account("a child", kids[0].ID, agent.Spending{}, agent.Budget{})
	account("a child that brings calls", kids[1].ID, agent.Spending{Tokens: 51, Cost: 6}, limits(77, 88))
	for _, b := range born {
		equal(t, "returned", b, d.agent(b.ID))
	}
	d.append(kids[1].ID, budget(-1, -1))
	account("no limits any more", kids[1].ID, agent.Spending{Tokens: 51, Cost: 6}, agent.Budget{})
	// Other verbs keep them.
	d.append(kids[1].ID, budget(9, 9))
	d.send(kids[1].ID, kids[0].ID, "x")
	testkit.Must(d.s.Rename(background, kids[1].ID, agent.Passing(), "renamed"))(t)
	testkit.Must(d.s.Acquire(background, kids[1].ID, "k", hour))(t)
	d.renewAll("k", hour)
	account("after other verbs", kids[1].ID, agent.Spending{Tokens: 51, Cost: 6}, limits(9, 9))
	killed := testkit.Must(d.s.Kill(background, killOf(kids[1].ID, false)))(t)
	equal(t, "killed", killed.Agent, d.agent(kids[1].ID))
	account("the dead", kids[1].ID, agent.Spending{Tokens: 51, Cost: 6}, limits(9, 9))
	// Whatever a server says, the count stays one that can be told exactly.
	const most = 1<<53 - 1
	d.append(kids[0].ID, usage(most, most), usage(most, most), usage(1, 1))
	account("absurd calls", kids[0].ID, agent.Spending{Tokens: most, Cost: most}, agent.Budget{})
}

func ptr(n int64) *int64 { return &n }

func testSpendingRefuses(t *testing.T, w *Workspace) {
	d := open(t, w)
	call := func(change func(*history.Call)) history.Draft {
		u := usage(10, 1)
		change(u.Meta.Call)
		return u
	}
	command := func(name string, b *history.Budget) history.Draft {
		return history.Draft{Kind: history.Command, Meta: history.Meta{Command: name, Budget: b}}
	}
	misplaced := text(history.User, "x")
	misplaced.Meta.Budget = &history.Budget{}
	called := text(history.Assistant, "x")
	called.Meta.Call = usage(1, 1).Meta.Call
	before := d.audit()
	for what, draft := range map[string]history.Draft{
		"negative input":           call(func(c *history.Call) { c.Input = -1 }),
		"negative output":          call(func(c *history.Call) { c.Output = -1 }),
		"negative cache reads":     call(func(c *history.Call) { c.CacheRead = -1 }),
		"negative cache writes":    call(func(c *history.Call) { c.CacheWrite = -1 }),
		"negative reasoning":       call(func(c *history.Call) { c.Reasoning = -1 }),
		"negative cost":            call(func(c *history.Call) { c.Cost = -1 }),
		"negative attempts":        call(func(c *history.Call) { c.Attempts = -1 }),
		"a negative time":          call(func(c *history.Call) { c.TookMS = -1 }),
		"a number no JSON keeps":   call(func(c *history.Call) { c.Input = 1 << 53 }),
		"a negative limit":         command("budget", &history.Budget{Tokens: ptr(-1)}),
		"a negative limit of cost": command("budget", &history.Budget{Cost: ptr(-1)}),
		"a limit no JSON keeps":    command("budget", &history.Budget{Cost: ptr(1 << 53)}),
		"another command's budget": command("model", &history.Budget{}),
		"a budget of nothing":      command("budget", nil),
		"a budget in a message":    misplaced,
		"a call in a message":      called,
	} {
		refused(t, what, must2(d.s.Append(background, d.zero, agent.Passing(), says("x")[0], draft)), fault.InvalidEvent)
		kids := children("")
		kids[0].Entries = []history.Draft{draft}
		refused(t, what+" of a child", must2(d.s.Fork(background, forkOf(d.zero, agent.Passing(), kids))), fault.InvalidEvent)
	}
	equal(t, "nothing was written", d.audit(), before)
}

// testAllowances: limits bind the whole subtree, through the dead.
func testAllowances(t *testing.T, w *Workspace) {
	d := open(t, w)
	names := map[id.Agent]string{d.zero: "0"}
	fork := func(parent id.Agent, name string) id.Agent {
		kid := d.fork(parent, name)[0].ID
		names[kid] = name
		return kid
	}
	limit := func(l agent.Limit) string {
		if n, ok := l.Get(); ok {
			return fmt.Sprint(n)
		}
		return "-"
	}
	// What binds an agent, as NAME:TOKENS/LIMIT:COST/LIMIT.
	bound := func(a id.Agent) string {
		t.Helper()
		var out []string
		for _, l := range testkit.Must(d.s.Allowances(background, a))(t) {
			if l.Of != d.agent(l.Of.ID) || l.Budget != l.Of.Budget {
				t.Errorf("%+v, stored %+v", l, d.agent(l.Of.ID))
			}
			out = append(out, fmt.Sprintf("%s:%d/%s:%d/%s", names[l.Of.ID], l.Spent.Tokens, limit(l.Budget.Tokens), l.Spent.Cost, limit(l.Budget.Cost)))
		}
		return strings.Join(out, " ")
	}
	a := fork(d.zero, "a")
	b := fork(a, "b")
	c := fork(b, "c")
	side := fork(a, "side")
	n := int64(1)
	for _, x := range []id.Agent{d.zero, a, b, c, side} {
		d.append(x, usage(n, 2*n))
		n *= 10
	}
	equal(t, "no limits", bound(c), "")
	_, err := d.s.Allowances(background, id.NewAgent())
	refused(t, "an unknown agent", err, fault.NotFound)

	d.append(a, budget(50000, -1))
	equal(t, "an ancestor's", bound(c), "a:11110/50000:22220/-")
	equal(t, "its own", bound(a), "a:11110/50000:22220/-")
	equal(t, "none above it", bound(d.zero), "")
	d.append(c, budget(-1, 0))
	d.append(d.zero, budget(1, 2))
	equal(t, "nearest first", bound(c), "c:1000/-:2000/0 a:11110/50000:22220/- 0:11111/1:22222/2")
	equal(t, "beside it", bound(side), "a:11110/50000:22220/- 0:11111/1:22222/2")

	// The dead have spent what they have spent, and their limits hold.
	d.append(b, budget(7, 7))
	testkit.Must(d.s.Kill(background, killOf(b, false)))(t)
	testkit.Must(d.s.Kill(background, killOf(side, false)))(t)
	d.append(c, usage(5, 5))
	equal(t, "through the dead", bound(c), "c:1005/-:2005/0 b:1105/7:2205/7 a:11115/50000:22225/- 0:11116/1:22227/2")
	for _, c := range []struct {
		of     id.Agent
		tokens int64
	}{{c, 1005}, {b, 1105}, {side, 10000}, {a, 11115}, {d.zero, 11116}} {
		equal(t, "spent by "+names[c.of]+" and all below it", testkit.Must(d.s.Spent(background, c.of))(t).Tokens, c.tokens)
	}
	_, err = d.s.Spent(background, id.NewAgent())
	refused(t, "spent by an unknown agent", err, fault.NotFound)
	equal(t, "of the dead", bound(b), "b:1105/7:2205/7 a:11115/50000:22225/- 0:11116/1:22227/2")
	late := fork(c, "late")
	d.append(late, usage(100000, 0))
	if got := bound(late); !strings.HasPrefix(got, "c:101005/") || !strings.HasSuffix(got, " 0:111116/1:22227/2") {
		t.Errorf("of a later child: %s", got)
	}
	for _, x := range []id.Agent{c, a, d.zero} {
		d.append(x, budget(-1, -1))
	}
	equal(t, "limits taken away", bound(late), "b:101105/7:2205/7")

	// A long line.
	deep := 300
	if !testkit.SoakOn() {
		deep = 50
	}
	last := fork(d.zero, "top")
	d.append(last, budget(1, 1), usage(1, 1))
	for range deep {
		kids := children("")
		kids[0].Entries = []history.Draft{usage(1, 1)}
		last = testkit.Must(d.s.Fork(background, forkOf(last, agent.Passing(), kids)))(t)[0].ID
	}
	equal(t, "far below", bound(last), fmt.Sprintf("top:%d/1:%d/1", deep+1, deep+1))
	// Every call is in one history, whoever inherits it.
	var before id.Message
	sum, calls := int64(0), 0
	var newest time.Time
	for e, err := range d.s.Calls(background, time.Unix(0, 0)) {
		testkit.OK(t, err)
		m, err := e.Decode()
		if err != nil || e.Kind != history.Usage || e.ID <= before {
			t.Fatalf("entry %d after %d: %s, %v", e.ID, before, e.Kind, err)
		}
		before, newest = e.ID, e.CreatedAt
		if m.Call != nil {
			sum += m.Call.Tokens()
			calls++
		}
	}
	equal(t, "tokens of all calls", sum, testkit.Must(d.s.Spent(background, d.zero))(t).Tokens)
	if calls == 0 {
		t.Error("there are no calls")
	}
	for e := range d.s.Calls(background, newest.Add(time.Microsecond)) {
		t.Errorf("entry %d is older than that", e.ID)
	}
}
