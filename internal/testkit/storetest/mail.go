package storetest

import (
	"fmt"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

func (d *bench) send(from, to id.Agent, body string) mail.Letter {
	d.t.Helper()
	return testkit.Must(d.s.Send(background, registry.Send{From: from, To: to, Body: body}))(d.t)
}

// box lists a mailbox as "number:body" in the order of the store.
func (d *bench) box(a id.Agent, f mail.Filter) string {
	d.t.Helper()
	var out []string
	for _, l := range testkit.Must(d.s.Letters(background, a, f))(d.t) {
		out = append(out, fmt.Sprintf("%d:%s", l.Number, l.Body))
	}
	return strings.Join(out, " ")
}

func (d *bench) read(r registry.Read) (mail.Letter, bool) {
	d.t.Helper()
	l, ok, err := d.s.Read(background, r)
	if err != nil {
		d.t.Fatalf("read: %v", err)
	}
	return l, ok
}

func (d *bench) unread(a id.Agent) int64 {
	d.t.Helper()
	for _, o := range testkit.Must(d.s.Agents(background, agent.Filter{Dead: true}))(d.t) {
		if o.ID == a {
			equal(d.t, "unread alone", testkit.Must(d.s.Unread(background, a))(d.t), o.Unread)
			return o.Unread
		}
	}
	return -1
}

func testMail(t *testing.T, w *Workspace) {
	d := open(t, w)
	kids := d.fork(d.zero, "a", "b")
	a, b := kids[0].ID, kids[1].ID
	first := d.send(a, b, "one")
	d.send("", b, "two")
	d.send(b, b, "three") // to oneself
	d.send(a, d.zero, "elsewhere")
	if first.Number != 1 || first.From != a || first.To != b || first.Body != "one" || !first.Unread() || first.CreatedAt.IsZero() {
		t.Errorf("%+v", first)
	}
	equal(t, "arrival order", d.box(b, mail.Filter{}), "1:one 2:two 3:three")
	equal(t, "from an agent", d.box(b, mail.Filter{From: &a}), "1:one")
	user := id.Agent("")
	equal(t, "from the user", d.box(b, mail.Filter{From: &user}), "2:two")
	equal(t, "unread", d.unread(b), 3)
	equal(t, "the sender's history", d.kinds(a), "fork mail mail")
	equal(t, "the reader's history", d.kinds(b), "fork mail")
	m := testkit.Must(d.own(a)[1].Decode())(t)
	if m.LetterID != fmt.Sprint(first.ID) || m.To != string(b) || len(m.Body) != 64 {
		t.Errorf("mail entry %+v", m)
	}

	l, ok := d.read(registry.Read{Owner: b})
	if !ok || l.Body != "one" || l.Unread() {
		t.Errorf("oldest unread: %+v", l)
	}
	again, ok := d.read(registry.Read{Owner: b, Number: 1})
	if !ok || !again.ReadAt.Equal(l.ReadAt) {
		t.Errorf("read again: %+v, first %+v", again, l)
	}
	if l, _ := d.read(registry.Read{Owner: b, Number: 3}); l.Body != "three" {
		t.Errorf("by number: %+v", l)
	}
	equal(t, "unread first", d.box(b, mail.Filter{}), "2:two 1:one 3:three")
	equal(t, "only unread", d.box(b, mail.Filter{Unread: true}), "2:two")

	reply := testkit.Must(d.s.Send(background, registry.Send{From: b, To: a, Body: "re", InReplyTo: 1}))(t)
	equal(t, "in reply to", reply.InReplyTo, first.ID)

	testkit.OK(t, d.s.Hide(background, b, 3))
	equal(t, "hidden", d.box(b, mail.Filter{}), "2:two 1:one")
	equal(t, "hidden ones too", d.box(b, mail.Filter{Deleted: true}), "2:two 1:one 3:three")
	d.send("", b, "four")
	equal(t, "numbers are never reused", d.box(b, mail.Filter{Unread: true}), "2:two 4:four")
	for range 2 {
		d.read(registry.Read{Owner: b})
	}
	if _, ok := d.read(registry.Read{Owner: b}); ok {
		t.Error("a letter where none waits")
	}
	equal(t, "unread after all", d.unread(b), 0)
	// The dead keep their mail, and people may read it.
	d.send("", b, "five")
	testkit.Must(d.s.Kill(background, killOf(b, false)))(t)
	if l, ok := d.read(registry.Read{Owner: b}); !ok || l.Body != "five" {
		t.Errorf("mail of the dead: %+v", l)
	}
}

func testMailRefuses(t *testing.T, w *Workspace) {
	d := open(t, w)
	kids := d.fork(d.zero, "a", "b", "dead")
	a, b, dead := kids[0].ID, kids[1].ID, kids[2].ID
	testkit.Must(d.s.Kill(background, killOf(dead, false)))(t)
	d.send("", a, "one")
	send := func(s registry.Send) error { return must2(d.s.Send(background, s)) }
	before := d.audit()
	refused(t, "empty", send(registry.Send{From: a, To: b}), fault.InvalidText)
	refused(t, "too long", send(registry.Send{From: a, To: b, Body: strings.Repeat("x", mail.MaxBody+1)}), fault.InvalidText)
	refused(t, "no UTF-8", send(registry.Send{From: a, To: b, Body: "\xff"}), fault.InvalidText)
	refused(t, "NUL", send(registry.Send{From: a, To: b, Body: "\x00"}), fault.InvalidText)
	refused(t, "to the dead", send(registry.Send{From: a, To: dead, Body: "x"}), fault.DeadAgent)
	refused(t, "from the dead", send(registry.Send{From: dead, To: a, Body: "x"}), fault.DeadAgent)
	refused(t, "from the dead, another order", send(registry.Send{From: dead, To: b, Body: "x"}), fault.DeadAgent)
	refused(t, "to nobody", send(registry.Send{From: a, To: id.NewAgent(), Body: "x"}), fault.NotFound)
	refused(t, "from nobody", send(registry.Send{From: id.NewAgent(), To: a, Body: "x"}), fault.NotFound)
	refused(t, "a reply to nothing", send(registry.Send{From: a, To: b, Body: "x", InReplyTo: 9}), fault.NotFound)
	refused(t, "a reply to another's letter", send(registry.Send{From: b, To: a, Body: "x", InReplyTo: 1}), fault.NotFound)
	refused(t, "a stale claim", send(registry.Send{From: a, Claim: agent.Held("me", 2), To: b, Body: "x"}), fault.Fenced)
	lease := testkit.Must(d.s.Acquire(background, a, "kernel", hour))(t).Lease
	refused(t, "a leased sender", send(registry.Send{From: a, To: b, Body: "x"}), fault.Leased)
	if after := d.audit(); after != before {
		t.Errorf("a refused letter left a trace: %+v, before %+v", after, before)
	}
	equal(t, "the holder", send(registry.Send{From: a, Claim: agent.Held("kernel", lease.Epoch), To: b, Body: "x"}), nil)
	equal(t, "to a leased agent", send(registry.Send{To: a, Body: "x"}), nil)
	full := registry.Send{To: a, Body: "x", Most: 1}
	refused(t, "to a full mailbox", send(full), fault.Conflict)
	full.Most = 3
	equal(t, "to one that has room for one", send(full), nil)
	refused(t, "and then is full", send(full), fault.Conflict)
	notice := registry.Send{From: id.Kernel, About: dead, To: b, Body: "it died"}
	equal(t, "a notice of the kernel", send(notice), nil)
	for _, from := range []id.Agent{dead, a} {
		n := 0
		for _, l := range testkit.Must(d.s.Letters(background, b, mail.Filter{From: &from}))(t) {
			if l.From == id.Kernel && l.About == dead && l.Body == "it died" {
				n++
			}
		}
		if want := map[bool]int{true: 1}[from == dead]; n != want {
			t.Errorf("%d notices about %s, want %d", n, from, want)
		}
	}
	equal(t, "the longest", send(registry.Send{From: b, To: b, Body: strings.Repeat("x", mail.MaxBody)}), nil)

	_, _, err := d.s.Read(background, registry.Read{Owner: b, Number: 77})
	refused(t, "an unknown letter", err, fault.NotFound)
	_, _, err = d.s.Read(background, registry.Read{Owner: id.NewAgent()})
	refused(t, "nobody's mailbox", err, fault.NotFound)
	refused(t, "hide an unknown letter", d.s.Hide(background, b, 77), fault.NotFound)
	refused(t, "hide in nobody's mailbox", d.s.Hide(background, id.NewAgent(), 1), fault.NotFound)
	equal(t, "hide", d.s.Hide(background, b, 1), nil)
	refused(t, "hide twice", d.s.Hide(background, b, 1), fault.NotFound)
	_, _, err = d.s.Read(background, registry.Read{Owner: b, Number: 1})
	refused(t, "read what is hidden", err, fault.NotFound)
}

// testReadWithEntries: marking a letter and telling the history of it happen
// together or not at all.
func testReadWithEntries(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0]
	d.send(d.zero, kid.ID, "hello")
	r := registry.Read{Owner: kid.ID, Entries: func(l mail.Letter) []history.Draft {
		return []history.Draft{text(history.ToolResult, "mail: "+l.Body)}
	}}
	fails := func(what string, r registry.Read, code fault.Code) {
		t.Helper()
		_, ok, err := d.s.Read(background, r)
		refused(t, what, err, code)
		if ok || d.unread(kid.ID) != 1 {
			t.Errorf("%s: the letter was marked", what)
		}
	}
	stale := r
	stale.Claim = agent.Held("me", 9)
	fails("a stale claim", stale, fault.Fenced)
	bad := r
	bad.Entries = func(mail.Letter) []history.Draft { return []history.Draft{history.NewRewind(1<<40, "")} }
	fails("an entry that does not fit", bad, fault.NotFound)
	bad.Entries = func(mail.Letter) []history.Draft { return []history.Draft{{Kind: history.Killed}} }
	fails("an entry that is not ours to write", bad, fault.InvalidKind)
	lease := testkit.Must(d.s.Acquire(background, kid.ID, "kernel", hour))(t).Lease
	fails("a leased agent", r, fault.Leased)
	equal(t, "nothing was written", d.kinds(kid.ID), "fork")

	r.Claim = agent.Held("kernel", lease.Epoch)
	if l, ok := d.read(r); !ok || l.Body != "hello" {
		t.Errorf("%+v", l)
	}
	equal(t, "context", d.context(kid.ID), "mail: hello")
	equal(t, "unread", d.unread(kid.ID), 0)
	if _, ok := d.read(r); ok {
		t.Error("a letter where none waits")
	}
	equal(t, "no letter, no entry", d.kinds(kid.ID), "fork tool_result")
	d.send("", kid.ID, "more")
	r.Entries = func(mail.Letter) []history.Draft { return nil }
	if _, ok := d.read(r); !ok {
		t.Error("no entries")
	}
	testkit.Must(d.s.Kill(background, killOf(kid.ID, false)))(t)
	_, _, err := d.s.Read(background, registry.Read{Owner: kid.ID, Number: 1, Entries: r.Entries})
	refused(t, "entries of the dead", err, fault.DeadAgent)
}
