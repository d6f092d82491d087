package storetest

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/testkit"
)

// mind is the state that a naive observer keeps of one family of agents: whole contexts, mailboxes as lists, leases as
// names.
type mind struct {
	s       *store.Store
	model   *TreeModel
	people  []*person
	byID    map[id.Agent]*person
	texts   map[id.Message]string // of entries with content; "[redacted]" later
	foreign []id.Message          // ids that no rewind of this family reaches
	serial  int
	prefix  string
}

type person struct {
	id, parent id.Agent
	name       string
	dead       bool
	owner      string // of a live lease
	epoch      int64
	seen       id.Message   // newest own entry that the mind knows
	filled     []id.Message // own entries with content
	box        []letter
	live       *history.Context
	calls      []history.Call
	budget     history.Budget
	reply      string // kept behind the newest entry; "" if none
}

// GoString keeps the logs of failures short.
func (p *person) GoString() string { return p.id.Short() }

type letter struct {
	body         string
	from         id.Agent
	read, hidden bool
	number       int64
}

// testOracle lets random verbs loose on the store and on the mind, and compares
// them after each.
func testOracle(t *testing.T, w *Workspace) {
	d := open(t, w)
	checks := 40
	if !testkit.SoakOn() {
		checks = 10
	}
	limitChecks(t, checks)
	family := 0
	rapid.Check(t, func(rt *rapid.T) {
		family++
		m := newMind(rt, d.s, d.zero, fmt.Sprintf("f%d.", family))
		rt.Repeat(m.actions())
		if family%8 == 0 {
			if _, err := d.s.Audit(background, nil); err != nil {
				rt.Fatalf("audit: %v", err)
			}
		}
	})
}

// limitChecks bounds the number of rapid's checks, unless the command line
// says otherwise. rapid itself takes a fifth of it under -short.
func limitChecks(t *testing.T, n int) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if given {
		return
	}
	before := flag.Lookup("rapid.checks").Value.String()
	set := func(v string) {
		testkit.OK(t, flag.Set("rapid.checks", v))
	}
	set(strconv.Itoa(n))
	t.Cleanup(func() { set(before) })
}

func newMind(t *rapid.T, s *store.Store, zero id.Agent, prefix string) *mind {
	kid := children("")
	kid[0].Entries = []history.Draft{history.NewClear()} // whatever agent 0 has
	born, err := s.Fork(background, forkOf(zero, agent.Passing(), kid))
	if err != nil {
		t.Fatalf("fork: %v", err)
	}
	root := born[0].ID
	m := &mind{s: s, prefix: prefix, model: NewTreeModel(root), byID: map[id.Agent]*person{}, texts: map[id.Message]string{},
		foreign: []id.Message{born[0].ForkMessage, 1 << 50}}
	m.join(t, root, zero, "")
	return m
}

// join takes a newborn into the family.
func (m *mind) join(t *rapid.T, a, parent id.Agent, name string) {
	p := &person{id: a, parent: parent, name: name}
	m.people, m.byID[a] = append(m.people, p), p
	m.observe(t, p)
	m.refresh(t, p)
}

func numbers(list []string) []id.Message {
	var out []id.Message
	for _, s := range list {
		out = append(out, number(s))
	}
	return out
}

// observe reads the entries of an agent that the mind has not seen.
func (m *mind) observe(t *rapid.T, p *person) []history.Entry {
	var out []history.Entry
	for e, err := range m.s.QueryRange(background, history.Range{Agent: p.id, Start: p.seen}, history.Selection{}) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		out = append(out, e)
	}
	for _, e := range out {
		p.seen, p.reply = e.ID, ""
		meta := testkit.Must(e.Decode())(t)
		p.account(meta)
		ok := true
		switch e.Kind {
		case history.Rewind:
			ok = m.model.Rewind(p.id, e.ID, number(meta.Target))
		case history.Compact:
			ok = m.model.Compact(p.id, e.ID, number(meta.StartID), number(meta.EndID), numbers(meta.Keep)...)
		default:
			m.model.Append(p.id, e.ID, e.Kind, meta.Label)
		}
		if !ok {
			t.Fatalf("the store took a %s that the model refuses: %s", e.Kind, e.Meta)
		}
		if len(e.Content) > 0 {
			p.filled = append(p.filled, e.ID)
			m.texts[e.ID] = plain(t, m.s, e)
		}
		if p.live == nil {
			continue
		}
		fresh, err := extend(p.live, e)
		if err != nil {
			t.Fatalf("extend: %v", err)
		}
		if !fresh {
			m.refresh(t, p)
		}
	}
	return out
}

func number(s string) id.Message {
	n, _ := strconv.ParseInt(s, 10, 64)
	return id.Message(n)
}

// plain is the text of an entry, from its blob if need be.
func plain(t *rapid.T, s *store.Store, e history.Entry) string {
	parts, err := e.Parts()
	if err == nil {
		err = history.Fill(parts, blobs(s))
	}
	if err != nil {
		t.Fatalf("message %d: %v", e.ID, err)
	}
	return history.Plain(parts)
}

func (m *mind) refresh(t *rapid.T, p *person) {
	c, err := history.Replay(background, m.s, p.id)
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
	p.live = c
}

// check compares a few agents with the mind after each step.
func (m *mind) check(t *rapid.T) {
	for range min(3, len(m.people)) {
		m.compare(t, rapid.SampledFrom(m.people).Draw(t, "looked at"))
	}
}

func (m *mind) compare(t *rapid.T, p *person) {
	c, err := history.Replay(background, m.s, p.id)
	if err != nil {
		t.Fatalf("replay of %s: %v", p.id, err)
	}
	want := m.model.Context(p.id)
	if !SameTree(want, c.Messages) {
		t.Fatalf("replay: %v, model: %v", list(c.Messages), want)
	}
	for _, e := range c.Messages {
		if got := plain(t, m.s, e); got != m.texts[e.ID] {
			t.Fatalf("message %d reads %.40q, want %.40q", e.ID, got, m.texts[e.ID])
		}
	}
	if !slices.Equal(list(p.live.Messages), list(c.Messages)) {
		t.Fatalf("live: %v, replay: %v", list(p.live.Messages), list(c.Messages))
	}
	for _, label := range []string{"", "x", "y"} {
		got, ok := c.Outline.Mark(label)
		if at, found := m.model.Marked(p.id, label); ok != found || got.ID != at {
			t.Fatalf("mark %q is %v, model: %d", label, got, at)
		}
	}
	n := rapid.IntRange(1, 5).Draw(t, "tail")
	tail, err := history.Tail(background, m.s, p.id, n)
	if err != nil || !slices.Equal(list(tail), list(c.Messages[max(0, len(c.Messages)-n):])) {
		t.Fatalf("tail of %d: %v, %v; replay: %v", n, list(tail), err, list(c.Messages))
	}
	row := testkit.Must(m.s.Agent(background, p.id))(t)
	if row.Own != m.model.Own(p.id) || row.Total != int64(len(want)) || row.Name != p.name || (row.Status == agent.Dead) != p.dead ||
		row.Head != p.seen || row.Lease.Owner != p.owner || row.Lease.Epoch != p.epoch || row.Parent != p.parent {
		t.Fatalf("row %+v, mind %+v with %d own of %d", row, *p, m.model.Own(p.id), len(want))
	}
	m.compareMoney(t, p, row)
	m.compareReply(t, p)
	m.compareMail(t, p)
}

func (m *mind) compareMail(t *rapid.T, p *person) {
	letters := testkit.Must(m.s.Letters(background, p.id, mailFilter))(t)
	var unread, read []string
	for _, l := range p.box {
		s := fmt.Sprintf("%d %s %s %v", l.number, l.from, l.body, l.hidden)
		if l.read {
			read = append(read, s)
		} else {
			unread = append(unread, s)
		}
	}
	var got []string
	for _, l := range letters {
		got = append(got, fmt.Sprintf("%d %s %s %v", l.Number, l.From, l.Body, !l.DeletedAt.IsZero()))
	}
	if want := strings.Join(append(unread, read...), "\n"); strings.Join(got, "\n") != want {
		t.Fatalf("mailbox\n%s\nmind\n%s", strings.Join(got, "\n"), want)
	}
}

func list(entries []history.Entry) []id.Message {
	out := make([]id.Message, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

// claim draws a right to write and says what the store must answer to it.
func (m *mind) claim(t *rapid.T, p *person) (agent.Claim, fault.Code) {
	kind := rapid.SampledFrom([]string{"good", "good", "good", "passing", "stale"}).Draw(t, "claim")
	c, code := agent.Passing(), fault.Code("")
	switch {
	case kind == "stale":
		c, code = agent.Held("nobody", p.epoch), fault.Fenced
	case p.owner != "" && kind == "good":
		c = agent.Held(p.owner, p.epoch)
	case p.owner != "":
		code = fault.Leased
	}
	if p.dead {
		code = fault.DeadAgent
	}
	return c, code
}

// answer checks a verb's answer; true if it was carried out.
func answer(t *rapid.T, err error, want ...fault.Code) bool {
	if want[0] == "" {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return true
	}
	if err == nil || !slices.Contains(want, fault.CodeOf(err)) {
		t.Fatalf("%v, want %v", err, want)
	}
	return false
}

// extend adds an entry that was just appended. It returns false when the
// entry brings back or takes away what is not in memory alone (rewind,
// compact, redact): then the context is stale and Replay makes a new one.
func extend(c *history.Context, e history.Entry) (bool, error) {
	if err := c.Outline.Apply(e); err != nil {
		return false, err
	}
	switch {
	case e.Kind.Reaches():
		c.Messages = append(c.Messages, e)
	case e.Kind == history.Clear:
		c.Messages = nil
	case e.Kind == history.Rewind || e.Kind == history.Compact || e.Kind == history.Redact:
		return false, nil
	}
	return true, nil
}

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

// below returns an agent and all agents below it.
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
