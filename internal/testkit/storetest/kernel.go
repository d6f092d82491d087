package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/core/mail"
	"ramet/internal/core/registry"
	"ramet/internal/testkit"
)

func byAgent(a, b agent.Holding) int { return cmp.Compare(a.Agent, b.Agent) }

// renewAll returns the result of RenewAll, ordered by id.
func (d *bench) renewAll(owner string, ttl time.Duration) []agent.Holding {
	d.t.Helper()
	out := testkit.Must(d.s.RenewAll(background, owner, ttl))(d.t)
	slices.SortFunc(out, byAgent)
	return out
}

func (d *bench) leased() []id.Agent {
	d.t.Helper()
	list, _, err := d.s.Leased(background)
	testkit.OK(d.t, err)
	var out []id.Agent
	for _, a := range list {
		if a.Lease.Owner == "" || a != d.agent(a.ID) {
			d.t.Errorf("leased: %+v, stored %+v", a, d.agent(a.ID))
		}
		out = append(out, a.ID)
	}
	return out
}

func testLeasesOfAKernel(t *testing.T, w *Workspace) {
	d := open(t, w)
	equal(t, "nobody is leased", len(d.leased()), 0)
	equal(t, "nothing to renew", len(d.renewAll("a", hour)), 0)
	const many = 70
	var kids []id.Agent
	for range many {
		kids = append(kids, d.fork(d.zero, "")[0].ID)
	}
	want := make([]agent.Holding, many)
	for i, kid := range kids {
		// Run out at once: taken by nobody, it stays its owner's.
		want[i] = agent.Holding{Agent: kid, Epoch: testkit.Must(d.s.Acquire(background, kid, "a", 0))(t).Lease.Epoch}
	}
	other := testkit.Must(d.s.Acquire(background, d.zero, "b", hour))(t).Lease
	list, now, err := d.s.Leased(background)
	if err != nil || len(list) != many+1 || list[0].ID != d.zero || !list[0].Lease.Live(now) || list[1].Lease.Live(now) {
		t.Errorf("leased: %d agents at %s, %v", len(list), now, err)
	}
	if db := testkit.Must(d.s.Describe(background))(t).Now; now.Sub(db).Abs() > time.Minute {
		t.Errorf("now is %s, the database says %s", now, db)
	}
	equal(t, "leased, in creation order", fmt.Sprint(d.leased()), fmt.Sprint(append([]id.Agent{d.zero}, kids...)))

	slices.SortFunc(want, byAgent)
	equal(t, "all are renewed", fmt.Sprint(d.renewAll("a", hour)), fmt.Sprint(want))
	now = testkit.Must(d.s.Describe(background))(t).Now
	for _, kid := range kids {
		lease := d.agent(kid).Lease
		if left := lease.Until.Sub(now); left < hour-10*time.Second || left > hour+10*time.Second || lease.Owner != "a" {
			t.Errorf("a lease renewed for an hour ends in %s: %+v", left, lease)
		}
	}
	equal(t, "another's is left alone", d.agent(d.zero).Lease, other)
	equal(t, "histories are not written", d.kinds(kids[0]), "fork")

	// One is killed, one given back, one taken over.
	testkit.Must(d.s.Kill(background, killOf(kids[0], false)))(t)
	equal(t, "release", d.s.Release(background, kids[1], "a", d.agent(kids[1]).Lease.Epoch), nil)
	testkit.Must(d.s.Seize(background, kids[2], d.agent(kids[2]).Lease, "b", hour))(t)
	want = slices.DeleteFunc(want, func(h agent.Holding) bool { return slices.Contains(kids[:3], h.Agent) })
	equal(t, "what was lost is missing", fmt.Sprint(d.renewAll("a", hour)), fmt.Sprint(want))
	equal(t, "leased", fmt.Sprint(d.leased()), fmt.Sprint(append([]id.Agent{d.zero}, kids[2:]...)))
	equal(t, "the other's", len(d.renewAll("b", hour)), 2)
}

// testRenewalsAmongVerbs renews all leases while their holders write to each
// other: nobody is refused, and nobody waits for ever.
func testRenewalsAmongVerbs(t *testing.T, w *Workspace) {
	d := open(t, w)
	const agents = 8
	var kids []agent.Agent
	for range agents {
		kid := d.fork(d.zero, "")[0]
		kid.Lease = testkit.Must(d.s.Acquire(background, kid.ID, "k", hour))(t).Lease
		kids = append(kids, kid)
	}
	each := 20
	if !testkit.SoakOn() {
		each = 6
	}
	var group, renewing sync.WaitGroup
	done := make(chan struct{})
	renewing.Go(func() {
		for {
			if held, err := d.s.RenewAll(background, "k", hour); err != nil || len(held) != agents {
				t.Errorf("renewed %d, %v", len(held), err)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i, kid := range kids {
		group.Go(func() {
			for n := range each {
				claim := agent.Held("k", kid.Lease.Epoch)
				if err := must2(d.s.Send(background, registry.Send{From: kid.ID, Claim: claim, To: kids[(i+n)%agents].ID, Body: "x"})); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	group.Wait()
	close(done)
	renewing.Wait()
	equal(t, "letters", d.audit().Letters, agents*each)
}

func testSeize(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0].ID
	_, err := d.s.Seize(background, kid, agent.Lease{}, "b", hour)
	refused(t, "from nobody", err, fault.Conflict)
	held := testkit.Must(d.s.Acquire(background, kid, "a", hour))(t).Lease
	for what, from := range map[string]agent.Lease{
		"from another owner":  {Owner: "x", Epoch: held.Epoch},
		"from an older epoch": {Owner: "a", Epoch: held.Epoch - 1},
		"from a newer epoch":  {Owner: "a", Epoch: held.Epoch + 1},
	} {
		_, err := d.s.Seize(background, kid, from, "b", hour)
		refused(t, what, err, fault.Conflict)
	}
	equal(t, "nothing changed", d.agent(kid).Lease, held)
	// When it was renewed last does not matter.
	testkit.Must(d.s.Renew(background, kid, "a", held.Epoch, 2*hour))(t)
	taken := testkit.Must(d.s.Seize(background, kid, held, "b", hour))(t)
	if taken.Owner != "b" || taken.Epoch != held.Epoch+1 || d.agent(kid).Lease != taken {
		t.Errorf("%+v, stored %+v", taken, d.agent(kid).Lease)
	}
	// Of two that found the holder dead, one gets it.
	_, err = d.s.Seize(background, kid, held, "c", hour)
	refused(t, "twice", err, fault.Conflict)
	_, err = d.s.Seize(background, kid, taken, "c\xff", hour)
	refused(t, "an owner that is not UTF-8", err, fault.InvalidText)
	_, err = d.s.Seize(background, id.NewAgent(), taken, "c", hour)
	refused(t, "an unknown agent", err, fault.NotFound)
	testkit.Must(d.s.Kill(background, killOf(kid, false)))(t)
	_, err = d.s.Seize(background, kid, taken, "c", hour)
	refused(t, "the dead", err, fault.DeadAgent)
}

// testFenced: whoever lost a lease, in whatever way, writes nothing any more,
// with any verb.
func testFenced(t *testing.T, w *Workspace) {
	d := open(t, w)
	friend := d.fork(d.zero, "friend")[0].ID
	for _, c := range []struct {
		how  string
		lose func(a id.Agent, held agent.Lease)
	}{
		{"another acquired it when it had run out", func(a id.Agent, held agent.Lease) {
			if next := testkit.Must(d.s.Acquire(background, a, "new", hour))(t).Lease; next.Epoch <= held.Epoch {
				t.Errorf("epoch %d after %d", next.Epoch, held.Epoch)
			}
		}},
		{"another seized it", func(a id.Agent, held agent.Lease) { testkit.Must(d.s.Seize(background, a, held, "new", hour))(t) }},
		{"a command passed when it had run out", func(a id.Agent, _ agent.Lease) { d.say(a, "passing") }},
		{"its owner began anew when it had run out", func(a id.Agent, _ agent.Lease) {
			testkit.Must(d.s.Acquire(background, a, "old", hour))(t)
		}},
		{"it was given back", func(a id.Agent, held agent.Lease) {
			equal(t, "release", d.s.Release(background, a, "old", held.Epoch), nil)
		}},
	} {
		kid := d.fork(d.zero, "")[0].ID
		entry := d.say(kid, "old")[0]
		d.send("", kid, "dear")
		held := testkit.Must(d.s.Acquire(background, kid, "old", 0))(t).Lease
		claim := agent.Held("old", held.Epoch)
		c.lose(kid, held)
		row, kinds, before := d.agent(kid), d.kinds(kid), d.audit()
		for verb, try := range map[string]func() error{
			"append": func() error { return must2(d.s.Append(background, kid, claim, says("late")...)) },
			"append at the head": func() error {
				return must2(d.s.Append(background, kid, claim.At(row.Head), says("late")...))
			},
			"fork": func() error { return must2(d.s.Fork(background, forkOf(kid, claim, children("")))) },
			"send": func() error {
				return must2(d.s.Send(background, registry.Send{From: kid, Claim: claim, To: friend, Body: "late"}))
			},
			"read": func() error {
				_, _, err := d.s.Read(background, registry.Read{Owner: kid, Claim: claim,
					Entries: func(mail.Letter) []history.Draft { return says("late") }})
				return err
			},
			"rename": func() error { return must2(d.s.Rename(background, kid, claim, "late")) },
			"redact": func() error { return d.s.Redact(background, kid, claim, entry.ID) },
			"renew":  func() error { return must2(d.s.Renew(background, kid, "old", held.Epoch, hour)) },
		} {
			refused(t, verb+" after "+c.how, try(), fault.Fenced)
		}
		d.keep(registry.Reply{Agent: kid, Claim: claim, After: row.Head, Text: "late"})
		if r, ok, err := d.s.Reply(background, kid); ok || err != nil {
			t.Errorf("a late reply was kept after %s: %+v, %v", c.how, r, err)
		}
		equal(t, "release after "+c.how, d.s.Release(background, kid, "old", held.Epoch), nil)
		equal(t, "the row after "+c.how, d.agent(kid), row)
		equal(t, "the history after "+c.how, d.kinds(kid), kinds)
		equal(t, "the letter waits after "+c.how, d.unread(kid), 1)
		equal(t, "everything after "+c.how, d.audit(), before)
	}
}

// testMailBetweenKernels: the sender's lease must be its own; whose the
// receiver's is does not matter.
func testMailBetweenKernels(t *testing.T, w *Workspace) {
	d := open(t, w)
	kids := d.fork(d.zero, "a", "b")
	for round := range 2 { // both orders of locking
		from, to := kids[round].ID, kids[1-round].ID
		mine := testkit.Must(d.s.Acquire(background, from, "here", hour))(t).Lease
		theirs := testkit.Must(d.s.Acquire(background, to, "there", hour))(t).Lease
		l := testkit.Must(d.s.Send(background, registry.Send{From: from, Claim: agent.Held("here", mine.Epoch), To: to, Body: "dear"}))(t)
		equal(t, "number", l.Number, 1)
		equal(t, "the receiver's lease", d.agent(to).Lease, theirs)
		equal(t, "the sender's lease", d.agent(from).Lease, mine)
		_, err := d.s.Send(background, registry.Send{From: from, Claim: agent.Held("there", theirs.Epoch), To: to, Body: "x"})
		refused(t, "the receiver's lease is not the sender's", err, fault.Fenced)
		equal(t, "waiting", d.unread(to), 1)
		equal(t, "release", d.s.Release(background, from, "here", mine.Epoch), nil)
		equal(t, "release", d.s.Release(background, to, "there", theirs.Epoch), nil)
	}
}
