package storetest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

// account remembers what an entry says of money.
func (p *person) account(m history.Meta) {
	if m.Call != nil {
		p.calls = append(p.calls, *m.Call)
	}
	if m.Budget != nil {
		p.budget = *m.Budget
	}
}

// spent adds up the calls of some people.
func spent(people ...*person) (out agent.Spending) {
	for _, p := range people {
		for _, c := range p.calls {
			out.Tokens += c.Input + c.Output + c.CacheRead + c.CacheWrite
			out.Cost += c.Cost
		}
	}
	return out
}

func (m *mind) compareMoney(t *rapid.T, p *person, row agent.Agent) {
	same := func(l agent.Limit, n *int64) bool {
		at, ok := l.Get()
		return ok == (n != nil) && (!ok || at == *n)
	}
	if row.Spent != spent(p) || !same(row.Budget.Tokens, p.budget.Tokens) || !same(row.Budget.Cost, p.budget.Cost) {
		t.Fatalf("account %+v %+v, mind %+v %+v", row.Spent, row.Budget, spent(p), p.budget)
	}
	var want, got []string
	for up := p; up != nil; up = m.byID[up.parent] {
		if up.budget != (history.Budget{}) {
			want = append(want, fmt.Sprint(up.id, spent(m.below(up)...)))
		}
	}
	allowances := testkit.Must(m.s.Allowances(background, p.id))(t)
	for _, a := range allowances {
		got = append(got, fmt.Sprint(a.Of.ID, a.Spent))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("allowances %v, mind %v", got, want)
	}
}

// below is a person with everybody below.
func (m *mind) below(top *person) (out []*person) {
	in := map[id.Agent]bool{top.id: true}
	for _, p := range m.people { // in creation order: parents come first
		if in[p.id] = in[p.id] || in[p.parent]; in[p.id] {
			out = append(out, p)
		}
	}
	return out
}

// doReply keeps replies of several, with claims and places that are good or not.
func (m *mind) doReply(t *rapid.T) {
	var batch []registry.Reply
	for range rapid.IntRange(1, 3).Draw(t, "replies") {
		p := m.pick(t)
		c, code := m.claim(t, p)
		r := registry.Reply{Agent: p.id, Claim: c, After: p.seen, Text: "reply " + m.next()}
		if rapid.IntRange(0, 3).Draw(t, "behind") == 0 {
			r.After--
		} else if code == "" {
			p.reply = r.Text
		}
		batch = append(batch, r)
	}
	testkit.OK(t, m.s.KeepReplies(background, batch))
}

func (m *mind) compareReply(t *rapid.T, p *person) {
	r, ok, err := m.s.Reply(background, p.id)
	if err != nil || ok != (p.reply != "") || r.Text != p.reply {
		t.Fatalf("reply %+v %v %v, mind %q", r, ok, err, p.reply)
	}
}
