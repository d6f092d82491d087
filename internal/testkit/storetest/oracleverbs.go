package storetest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/store"
	"ramet/internal/testkit"
)

var mailFilter = mail.Filter{Deleted: true}

func forkOf(parent id.Agent, c agent.Claim, kids []registry.Child) registry.Fork {
	return registry.Fork{Parent: parent, Claim: c, Children: kids}
}

func blobs(s *store.Store) func(chain.Hash) ([]byte, error) {
	return func(h chain.Hash) ([]byte, error) { return s.Blob(background, h) }
}

func (m *mind) pick(t *rapid.T) *person { return rapid.SampledFrom(m.people).Draw(t, "agent") }

// next is a text that nobody used before.
func (m *mind) next() string {
	m.serial++
	return fmt.Sprintf("%s%d", m.prefix, m.serial)
}

// draft is an entry of a random kind; what it says is unique.
func (m *mind) draft(t *rapid.T) history.Draft {
	s := m.next()
	k := rapid.SampledFrom([]history.Kind{history.User, history.User, history.Assistant, history.System, history.ToolResult,
		history.Note, history.Usage, history.Mark, history.Clear, history.Command}).Draw(t, "kind")
	switch k {
	case history.Clear:
		return history.Draft{Kind: k}
	case history.Usage:
		return usage(rapid.Int64Range(0, 1000).Draw(t, "tokens"), rapid.Int64Range(0, 1000).Draw(t, "cost"))
	case history.Command:
		return budget(rapid.Int64Range(-1, 3).Draw(t, "tokens"), rapid.Int64Range(-1, 3).Draw(t, "cost"))
	case history.Mark:
		return history.Draft{Kind: k, Meta: history.Meta{Label: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label")}}
	}
	if rapid.IntRange(0, 9).Draw(t, "size") == 0 {
		s = strings.Repeat(s+" ", history.BlobCutoff/len(s)+1)
	}
	return text(k, s)
}

func (m *mind) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append":  m.doAppend,
		"append2": m.doAppend, // more of these than of the rest
		"append3": m.doAppend,
		"rewind":  m.doRewind,
		"astray":  m.doRewindAstray,
		"compact": m.doCompact,
		"fork":    m.doFork,
		"kill":    m.doKill,
		"rename":  m.doRename,
		"send":    m.doSend,
		"read":    m.doRead,
		"hide":    m.doHide,
		"redact":  m.doRedact,
		"lease":   m.doLease,
		"reply":   m.doReply,
		"":        m.check,
	}
}

func (m *mind) doAppend(t *rapid.T) {
	p := m.pick(t)
	var drafts []history.Draft
	for range rapid.IntRange(1, 3).Draw(t, "entries") {
		drafts = append(drafts, m.draft(t))
	}
	c, code := m.claim(t, p)
	out, err := m.s.Append(background, p.id, c, drafts...)
	if !answer(t, err, code) {
		return
	}
	if seen := m.observe(t, p); !slices.Equal(list(seen), list(out)) {
		t.Fatalf("returned %v, stored %v", list(out), list(seen))
	}
}

func (m *mind) doRewind(t *rapid.T) {
	p := m.pick(t)
	reachable := m.model.Reachable(p.id)
	if len(reachable) == 0 {
		t.Skip("nowhere to go")
	}
	d := history.NewRewind(rapid.SampledFrom(reachable).Draw(t, "target"), "")
	if label := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label"); label != "" {
		target, ok := m.model.Marked(p.id, label)
		if !ok {
			t.Skip("no such mark")
		}
		d = history.NewRewind(target, label)
	}
	c, code := m.claim(t, p)
	if answer(t, must2(m.s.Append(background, p.id, c, d)), code) {
		m.observe(t, p)
	}
}

// doRewindAstray goes where it may not: behind the wall, into a sibling, into
// the parent's future, into the blue.
func (m *mind) doRewindAstray(t *rapid.T) {
	p := m.pick(t)
	astray := slices.Clone(m.foreign)
	for _, o := range m.people {
		astray = append(astray, o.filled...)
	}
	target := rapid.SampledFrom(astray).Draw(t, "target")
	if slices.Contains(m.model.Reachable(p.id), target) {
		t.Skip("not astray")
	}
	c, code := m.claim(t, p)
	wants := []fault.Code{code}
	if code == "" {
		wants = []fault.Code{fault.NotFound, fault.Conflict}
	}
	answer(t, must2(m.s.Append(background, p.id, c, history.NewRewind(target, ""))), wants...)
}

func (m *mind) doCompact(t *rapid.T) {
	p := m.pick(t)
	reachable := m.model.Reachable(p.id)
	if len(reachable) == 0 {
		t.Skip("nothing to compact")
	}
	first := rapid.SampledFrom(reachable).Draw(t, "first") + id.Message(rapid.IntRange(-1, 1).Draw(t, "off"))
	end := rapid.SampledFrom(reachable).Draw(t, "end")
	c, code := m.claim(t, p)
	if code == "" && !m.model.MayCompact(p.id, first, end) {
		code = fault.Conflict
	}
	d := text(history.Compact, "summary "+m.next())
	d.Meta = history.Meta{StartID: first.String(), EndID: end.String()}
	for _, i := range m.model.Context(p.id) {
		if code == "" && !i.Summary && i.ID >= first && i.ID <= end && rapid.Bool().Draw(t, "keep") {
			d.Meta.Keep = append(d.Meta.Keep, i.ID.String())
		}
	}
	if answer(t, must2(m.s.Append(background, p.id, c, d)), code) {
		m.observe(t, p)
	}
}

func (m *mind) nameTaken(name string) bool {
	return name != "" && slices.ContainsFunc(m.people, func(p *person) bool { return !p.dead && p.name == name })
}

func (m *mind) drawName(t *rapid.T) string {
	if name := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "name"); name != "" {
		return m.prefix + name
	}
	return ""
}

func (m *mind) doFork(t *rapid.T) {
	p := m.pick(t)
	if len(m.people) > 12 {
		t.Skip("enough")
	}
	c, code := m.claim(t, p)
	var kids []registry.Child
	names := map[string]bool{}
	for range rapid.IntRange(1, 3).Draw(t, "children") {
		kid := registry.Child{ID: id.NewAgent(), Name: m.drawName(t)}
		switch rapid.IntRange(0, 3).Draw(t, "begins with") {
		case 1:
			kid.Entries = []history.Draft{m.draft(t)}
		case 2:
			kid.Entries = []history.Draft{history.NewClear(), m.draft(t)}
		case 3:
			if reachable := m.model.Reachable(p.id); len(reachable) > 0 {
				kid.Entries = []history.Draft{history.NewRewind(rapid.SampledFrom(reachable).Draw(t, "at"), ""), text(history.User, m.next())}
			}
		}
		if taken := m.nameTaken(kid.Name) || names[kid.Name]; taken && kid.Name != "" && (code == "" || names[kid.Name]) {
			code = fault.Conflict // twice in one fork is seen before anything is read
		}
		names[kid.Name] = true
		kids = append(kids, kid)
	}
	var own []history.Draft
	if rapid.Bool().Draw(t, "an entry of its own") {
		own = []history.Draft{m.draft(t)}
	}
	f := forkOf(p.id, c, kids)
	f.Entries = own
	born, err := m.s.Fork(background, f)
	if !answer(t, err, code) {
		return
	}
	for _, b := range born {
		if b.ForkMessage != p.seen {
			t.Fatalf("forked at %d, the parent's last entry is %d", b.ForkMessage, p.seen)
		}
		m.model.Fork(p.id, b.ID)
	}
	m.observe(t, p)
	for i, b := range born {
		m.join(t, b.ID, p.id, kids[i].Name)
	}
}

func (m *mind) doKill(t *rapid.T) {
	if len(m.people) == 1 || rapid.IntRange(0, 2).Draw(t, "mercy") > 0 {
		t.Skip("spared")
	}
	p := rapid.SampledFrom(m.people[1:]).Draw(t, "victim")
	cascade := rapid.Bool().Draw(t, "cascade")
	below := map[id.Agent]bool{p.id: true}
	var victims []*person
	for _, o := range m.people { // in creation order: parents come first
		below[o.id] = below[o.id] || cascade && below[o.parent]
		if below[o.id] && !o.dead {
			victims = append(victims, o)
		}
	}
	done, err := m.s.Kill(background, registry.Kill{Agent: p.id, Cascade: cascade, Reason: "fate"})
	if err != nil || done.Before != p.dead || len(done.Victims) != len(victims) {
		t.Fatalf("%+v, %v, want %d victims", done, err, len(victims))
	}
	for i, v := range victims {
		if done.Victims[i].ID != v.id {
			t.Fatalf("victim %d is %s, want %s", i, done.Victims[i].ID, v.id)
		}
		v.dead, v.owner, v.epoch = true, "", v.epoch+1
		m.observe(t, v)
	}
}

func (m *mind) doRename(t *rapid.T) {
	p, name := m.pick(t), m.drawName(t)
	c, code := m.claim(t, p)
	if code == "" && name != p.name && m.nameTaken(name) {
		code = fault.Conflict
	}
	if answer(t, must2(m.s.Rename(background, p.id, c, name)), code) {
		p.name = name
		m.observe(t, p)
	}
}

func (m *mind) doSend(t *rapid.T) {
	to := m.pick(t)
	s := registry.Send{To: to.id, Body: "letter " + m.next()}
	code := fault.Code("")
	var from *person
	if rapid.IntRange(0, 3).Draw(t, "by the user") > 0 {
		from = m.pick(t)
		s.From = from.id
		s.Claim, code = m.claim(t, from)
	}
	if to.dead {
		code = fault.DeadAgent
	}
	l, err := m.s.Send(background, s)
	if !answer(t, err, code) {
		return
	}
	to.box = append(to.box, letter{body: s.Body, from: s.From, number: int64(len(to.box)) + 1})
	if l.Number != int64(len(to.box)) {
		t.Fatalf("letter %d, want %d", l.Number, len(to.box))
	}
	if from != nil {
		m.observe(t, from)
	}
}

func (m *mind) doRead(t *rapid.T) {
	p := m.pick(t)
	waiting := slices.IndexFunc(p.box, func(l letter) bool { return !l.read && !l.hidden })
	r := registry.Read{Owner: p.id}
	code := fault.Code("")
	if rapid.Bool().Draw(t, "as a tool") {
		r.Claim, code = m.claim(t, p)
		r.Entries = func(l mail.Letter) []history.Draft { return []history.Draft{text(history.ToolResult, "got "+l.Body)} }
		if waiting < 0 {
			code = ""
		}
	}
	l, ok, err := m.s.Read(background, r)
	if !answer(t, err, code) {
		return
	}
	if ok != (waiting >= 0) || ok && l.Body != p.box[waiting].body {
		t.Fatalf("%+v %v, waiting: %d", l, ok, waiting)
	}
	if ok {
		p.box[waiting].read = true
		m.observe(t, p)
	}
}

func (m *mind) doHide(t *rapid.T) {
	p := m.pick(t)
	n := rapid.IntRange(1, len(p.box)+1).Draw(t, "number")
	code := fault.Code("")
	if n > len(p.box) || p.box[n-1].hidden {
		code = fault.NotFound
	}
	if answer(t, m.s.Hide(background, p.id, int64(n)), code) {
		p.box[n-1].hidden = true
	}
}

func (m *mind) doRedact(t *rapid.T) {
	p := m.pick(t)
	if len(p.filled) == 0 || rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		t.Skip("nothing to hide")
	}
	target := rapid.SampledFrom(p.filled).Draw(t, "message")
	c, code := m.claim(t, p)
	if p.dead && code == fault.DeadAgent { // the dead may be redacted, by whoever passes
		c, code = agent.Passing(), ""
	}
	if answer(t, m.s.Redact(background, p.id, c, target), code) {
		m.texts[target], p.reply = history.RedactedText, ""
		m.observe(t, p)
	}
}

func (m *mind) doLease(t *rapid.T) {
	p := m.pick(t)
	owner := rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "owner")
	switch rapid.SampledFrom([]string{"acquire", "renew", "release", "seize", "renew all"}).Draw(t, "verb") {
	case "acquire":
		code := fault.Code("")
		if p.dead {
			code = fault.DeadAgent
		} else if p.owner != "" && p.owner != owner {
			code = fault.Leased
		}
		held, err := m.s.Acquire(background, p.id, owner, hour)
		if !answer(t, err, code) {
			return
		}
		if p.owner == "" {
			p.owner, p.epoch = owner, p.epoch+1
		}
		now := testkit.Must(m.s.Agent(background, p.id))(t)
		if held.Lease.Epoch != p.epoch || held != now {
			t.Fatalf("held %+v, want epoch %d of %+v", held, p.epoch, now)
		}
	case "renew":
		code := fault.Code("")
		if p.owner != owner {
			code = fault.Fenced
		}
		answer(t, must2(m.s.Renew(background, p.id, owner, p.epoch, hour)), code)
	case "seize":
		code := fault.Code("")
		if p.dead {
			code = fault.DeadAgent
		} else if p.owner == "" {
			code = fault.Conflict
		}
		if answer(t, must2(m.s.Seize(background, p.id, agent.Lease{Owner: p.owner, Epoch: p.epoch}, owner, hour)), code) {
			p.owner, p.epoch = owner, p.epoch+1
		}
	case "renew all":
		held := testkit.Must(m.s.RenewAll(background, owner, hour))(t)
		got := map[id.Agent]int64{}
		for _, h := range held {
			got[h.Agent] = h.Epoch
		}
		for _, o := range m.people {
			if epoch, ok := got[o.id]; ok != (o.owner == owner) || ok && epoch != o.epoch {
				t.Fatalf("%s holds %s: %v under %d, mind %+v", owner, o.id, ok, epoch, *o)
			}
		}
	case "release":
		answer(t, m.s.Release(background, p.id, owner, p.epoch), "")
		if p.owner == owner {
			p.owner = ""
		}
	}
}
