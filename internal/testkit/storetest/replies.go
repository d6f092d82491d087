package storetest

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

func (d *bench) keep(replies ...registry.Reply) {
	d.t.Helper()
	if err := d.s.KeepReplies(background, replies); err != nil {
		d.t.Fatalf("keep replies: %v", err)
	}
}

// shown returns the stored draft of an agent's reply, "-" if there is none.
func (d *bench) shown(a id.Agent) string {
	d.t.Helper()
	r, ok, err := d.s.Reply(background, a)
	switch {
	case err != nil:
		d.t.Fatalf("reply: %v", err)
	case !ok && r != registry.Reply{}:
		d.t.Errorf("no reply, but %+v", r)
	case !ok:
		return "-"
	case r.Agent != a || r.After != d.agent(a).Head:
		d.t.Errorf("reply %+v of %s", r, a)
	}
	return r.Text
}

// reply is one of an agent as it stands, under the claim of its lease.
func (d *bench) reply(a id.Agent, text string) registry.Reply {
	d.t.Helper()
	row := d.agent(a)
	r := registry.Reply{Agent: a, After: row.Head, Text: text}
	if row.Lease.Owner != "" {
		r.Claim = agent.Held(row.Lease.Owner, row.Lease.Epoch)
	}
	return r
}

// kept returns the number of rows of an agent's reply, finished or not.
func kept(t testing.TB, raw *sql.DB, a id.Agent) (n int) {
	t.Helper()
	testkit.OK(t, raw.QueryRowContext(background, `SELECT count(*) FROM replies WHERE agent_uuid = $1`, string(a)).Scan(&n))
	return n
}

func testReplies(t *testing.T, w *Workspace) {
	d := open(t, w)
	d.keep()
	equal(t, "nothing kept", d.shown(d.zero), "-")
	equal(t, "of nobody", d.shown(id.NewAgent()), "-")
	d.keep(d.reply(d.zero, "I thi"))
	equal(t, "kept", d.shown(d.zero), "I thi")
	const odd = "I think, there\x00fore\xff I \u2028am"
	d.keep(d.reply(d.zero, odd))
	equal(t, "the next one, of any bytes", d.shown(d.zero), odd)
	d.keep(d.reply(d.zero, ""))
	equal(t, "an empty one", d.shown(d.zero), "")
	d.keep(d.reply(d.zero, "a"), d.reply(d.zero, "ab"))
	equal(t, "the last of two", d.shown(d.zero), "ab")
	equal(t, "histories say nothing of it", d.kinds(d.zero), "fork")
	long := strings.Repeat("a long reply ", 1<<20/13)
	d.keep(d.reply(d.zero, long))
	equal(t, "a long one", d.shown(d.zero) == long, true)

	// More than one statement holds, each under its own lease.
	var kids []id.Agent
	var all []registry.Reply
	for i := range 150 {
		kid := d.fork(d.zero, "")[0].ID
		testkit.Must(d.s.Acquire(background, kid, fmt.Sprint("kernel ", i%3), hour))(t)
		kids = append(kids, kid)
		all = append(all, d.reply(kid, fmt.Sprint("reply ", i)))
	}
	d.keep(all...)
	for i, kid := range kids {
		equal(t, "one of many", d.shown(kid), fmt.Sprint("reply ", i))
	}
}

// testRepliesOver: a reply that is over is left out, those beside it are kept.
func testRepliesOver(t *testing.T, w *Workspace) {
	d := open(t, w)
	raw := w.Raw(t)
	good := d.fork(d.zero, "good")[0].ID
	for i, c := range []struct {
		what string
		over func(a id.Agent) registry.Reply
	}{
		{"of another epoch", func(a id.Agent) registry.Reply {
			lease := testkit.Must(d.s.Acquire(background, a, "k", hour))(t).Lease
			return registry.Reply{Agent: a, After: d.agent(a).Head, Claim: agent.Held("k", lease.Epoch+1)}
		}},
		{"of another owner", func(a id.Agent) registry.Reply {
			lease := testkit.Must(d.s.Acquire(background, a, "k", hour))(t).Lease
			return registry.Reply{Agent: a, After: d.agent(a).Head, Claim: agent.Held("j", lease.Epoch)}
		}},
		{"of one that nobody holds", func(a id.Agent) registry.Reply {
			return registry.Reply{Agent: a, After: d.agent(a).Head, Claim: agent.Held("k", 0)}
		}},
		{"of a passing writer while somebody holds the lease", func(a id.Agent) registry.Reply {
			testkit.Must(d.s.Acquire(background, a, "k", hour))(t)
			return registry.Reply{Agent: a, After: d.agent(a).Head}
		}},
		{"behind an older entry", func(a id.Agent) registry.Reply {
			r := d.reply(a, "")
			d.say(a, "next")
			return r
		}},
		{"behind an entry that is none", func(a id.Agent) registry.Reply { return registry.Reply{Agent: a, After: 1 << 40} }},
		{"at another head than it follows", func(a id.Agent) registry.Reply {
			r := d.reply(a, "")
			r.Claim = agent.Passing().At(r.After - 1)
			return r
		}},
		{"of the dead", func(a id.Agent) registry.Reply {
			testkit.Must(d.s.Kill(background, killOf(a, false)))(t)
			return d.reply(a, "")
		}},
		{"of nobody", func(id.Agent) registry.Reply { return registry.Reply{Agent: id.NewAgent(), After: 1} }},
	} {
		kid := d.fork(d.zero, "")[0].ID
		bad := c.over(kid)
		bad.Text = "too late"
		before, after := d.reply(good, fmt.Sprint("before ", i)), d.reply(good, fmt.Sprint("after ", i))
		d.keep(before, bad)
		equal(t, "beside a reply "+c.what, d.shown(good), before.Text)
		d.keep(bad, after)
		equal(t, "beside a reply "+c.what, d.shown(good), after.Text)
		equal(t, "a reply "+c.what, d.shown(bad.Agent), "-")
		equal(t, "a reply "+c.what, d.shown(kid), "-")
		equal(t, "rows of a reply "+c.what, kept(t, raw, bad.Agent), 0)
	}
	// A good one stays where a bad one of the same agent follows.
	bad := d.reply(good, "bad")
	bad.Claim = agent.Held("x", 7)
	d.keep(d.reply(good, "kept"), bad)
	equal(t, "a bad one behind a good one", d.shown(good), "kept")

	// A lease that ran out is still its holder's, and no hindrance to others.
	held := testkit.Must(d.s.Acquire(background, good, "k", 0))(t).Lease
	d.keep(registry.Reply{Agent: good, After: d.agent(good).Head, Claim: agent.Held("k", held.Epoch), Text: "mine"})
	equal(t, "under a lease that ran out", d.shown(good), "mine")
	d.keep(registry.Reply{Agent: good, After: d.agent(good).Head, Text: "passing"})
	equal(t, "of a passing writer", d.shown(good), "passing")
	equal(t, "and the lease is as it was", d.agent(good).Lease, held)

	// What is kept ends with the next entry, of whatever kind, and with death.
	d.append(good, history.Draft{Kind: history.Note})
	equal(t, "after an entry", d.shown(good), "-")
	d.keep(d.reply(good, "again"))
	testkit.Must(d.s.Kill(background, killOf(good, false)))(t)
	equal(t, "of the dead", d.shown(good), "-")
	// The next kernel finds what the last one kept, until it writes.
	kid := d.fork(d.zero, "")[0].ID
	old := testkit.Must(d.s.Acquire(background, kid, "old", hour))(t).Lease
	d.keep(d.reply(kid, "I was just"))
	taken := testkit.Must(d.s.Seize(background, kid, old, "new", hour))(t)
	equal(t, "after a crash", d.shown(kid), "I was just")
	d.append2(kid, agent.Held("new", taken.Epoch), "interrupted")
	equal(t, "after the restart", d.shown(kid), "-")
}

// testRepliesRedacted: a reply that is over lies in the database until the next
// one; with a redaction it goes at once.
func testRepliesRedacted(t *testing.T, w *Workspace) {
	d := open(t, w)
	raw := w.Raw(t)
	kids := d.fork(d.zero, "a", "b")
	a, b := kids[0].ID, kids[1].ID
	rows := func() int { t.Helper(); return kept(t, raw, a) + kept(t, raw, b) }
	for _, s := range secrets() {
		d.keep(d.reply(b, "harmless"), d.reply(a, s.text[:len(s.text)/2]))
		d.keep(d.reply(a, s.text))
		look := windows([]byte(s.text))
		if w.Files != nil && !found(t, w.Files, look) {
			t.Fatalf("the test looks for the wrong bytes of %s", s.shape)
		}
		// Another text: the reply's own would be found in its entry, too.
		e := d.say(a, "x "+s.shape)[0]
		equal(t, "rows", rows(), 2)
		d.redact(a, e.ID)
		equal(t, "rows after a redaction", rows(), 1)
		if w.Files != nil && found(t, w.Files, look) {
			t.Fatalf("bytes of a reply (%s) are still in the files", s.shape)
		}
		// Redacting again changes nothing else, but drops what came since.
		d.keep(d.reply(a, "more"))
		equal(t, "rows again", rows(), 2)
		d.redact(a, e.ID)
		equal(t, "rows after it was redacted again", rows(), 1)
	}
	equal(t, "another's", d.shown(b), "harmless")
	testkit.Must(d.s.Kill(background, killOf(b, false)))(t)
	equal(t, "the row of the dead is not touched", rows(), 1)

	d.keep(d.reply(a, "refused"))
	refused(t, "a refused redaction", d.s.Redact(background, a, agent.Held("x", 9), d.agent(a).Head), fault.Fenced)
	equal(t, "drops nothing", d.shown(a), "refused")
	for range 20 {
		text := strings.Repeat("size", rand.IntN(5000))
		d.keep(d.reply(a, text), d.reply(d.zero, text))
		equal(t, "one of any size", d.shown(a), text)
	}
}
