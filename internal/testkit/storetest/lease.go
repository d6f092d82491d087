package storetest

import (
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/agent"
	"ramet/internal/testkit"
)

func testLeases(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0].ID
	first := testkit.Must(d.s.Acquire(background, kid, "a", hour))(t).Lease
	if row := d.agent(kid).Lease; row != first || row.Owner != "a" || row.Epoch != 1 {
		t.Errorf("granted %+v, stored %+v", first, row)
	}
	now := testkit.Must(d.s.Describe(background))(t).Now
	if left := first.Until.Sub(now); left < hour-10*time.Second || left > hour+10*time.Second {
		t.Errorf("a lease of an hour ends in %s", left)
	}
	again := testkit.Must(d.s.Acquire(background, kid, "a", 2*hour))(t).Lease
	equal(t, "our own again keeps its epoch", again.Epoch, first.Epoch)
	if !again.Until.After(first.Until) {
		t.Error("and is longer")
	}
	_, err := d.s.Acquire(background, kid, "b", hour)
	refused(t, "another's", err, fault.Leased)
	_, err = d.s.Renew(background, kid, "b", first.Epoch, hour)
	refused(t, "renew another's", err, fault.Fenced)
	_, err = d.s.Renew(background, kid, "a", first.Epoch+1, hour)
	refused(t, "renew another epoch", err, fault.Fenced)
	equal(t, "renew", testkit.Must(d.s.Renew(background, kid, "a", first.Epoch, 3*hour))(t).Epoch, first.Epoch)
	equal(t, "release another's", d.s.Release(background, kid, "b", first.Epoch), nil)
	equal(t, "release another epoch", d.s.Release(background, kid, "a", first.Epoch+1), nil)
	equal(t, "still held", d.agent(kid).Lease.Owner, "a")
	equal(t, "release", d.s.Release(background, kid, "a", first.Epoch), nil)
	equal(t, "release twice", d.s.Release(background, kid, "a", first.Epoch), nil)
	_, err = d.s.Append(background, kid, agent.Held("a", first.Epoch), says("x")...)
	refused(t, "write after release", err, fault.Fenced)
	d.say(kid, "passing") // a free agent
	next := testkit.Must(d.s.Acquire(background, kid, "b", hour))(t).Lease
	if next.Epoch <= first.Epoch {
		t.Errorf("epoch %d after %d", next.Epoch, first.Epoch)
	}
	_, err = d.s.Append(background, kid, agent.Held("a", first.Epoch), says("x")...)
	refused(t, "write of the old holder", err, fault.Fenced)
	for _, verb := range []func(id.Agent) error{
		func(a id.Agent) error { return must2(d.s.Acquire(background, a, "a", hour)) },
		func(a id.Agent) error { return must2(d.s.Renew(background, a, "a", 1, hour)) },
		func(a id.Agent) error { return d.s.Release(background, a, "a", 1) },
	} {
		refused(t, "an unknown agent", verb(id.NewAgent()), fault.NotFound)
	}
}

// testLeasesRunOut waits for the database's own clock, by asking it until it
// says yes.
func testLeasesRunOut(t *testing.T, w *Workspace) {
	d := open(t, w)
	kid := d.fork(d.zero, "kid")[0].ID
	until := func(what string, ok func() error) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; {
			err := ok()
			if err == nil {
				return
			}
			if !fault.Is(err, fault.Leased) || time.Now().After(deadline) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	short := testkit.Must(d.s.Acquire(background, kid, "a", 20*time.Millisecond))(t).Lease
	until("another takes over", func() error { return must2(d.s.Acquire(background, kid, "b", 20*time.Millisecond)) })
	_, err := d.s.Append(background, kid, agent.Held("a", short.Epoch), says("late")...)
	refused(t, "the first holder wakes up", err, fault.Fenced)
	_, err = d.s.Renew(background, kid, "a", short.Epoch, hour)
	refused(t, "and renews", err, fault.Fenced)
	held := d.agent(kid).Lease.Epoch
	until("a passing verb", func() error { return must2(d.s.Append(background, kid, agent.Passing(), says("on time")...)) })
	_, err = d.s.Append(background, kid, agent.Held("b", held), says("late")...)
	refused(t, "the second holder wakes up", err, fault.Fenced)
	// A lease that ran out but was taken by nobody is still its holder's.
	last := testkit.Must(d.s.Acquire(background, kid, "c", 0))(t).Lease
	d.append2(kid, agent.Held("c", last.Epoch), "mine")
	equal(t, "renewed", testkit.Must(d.s.Renew(background, kid, "c", last.Epoch, hour))(t).Epoch, last.Epoch)
	equal(t, "context", d.context(kid), "on time mine")
}

func (d *bench) append2(a id.Agent, c agent.Claim, texts ...string) {
	d.t.Helper()
	testkit.Must(d.s.Append(background, a, c, says(texts...)...))(d.t)
}
