package app_test

import (
	"testing"
	"time"

	"ramet/internal/testkit"
)

// single has one item.
const single = `
name: single
description: for tests
states:
  DRAFTING: [draft]
workers:
  draft:
    each: [i01]
    prompt: 'for {{scope}}: sign patiently'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

// What a killed host was doing is done elsewhere within 20 s, with the times that a user
// has.
func TestAKilledHostIsReplacedInTimeSoak(t *testing.T) {
	testkit.SoakOnly(t)
	const promised = 20 * time.Second
	f := newFleet(t, single)
	work := func(name string) *worker {
		s := f.site(name)
		s.lease, s.pulse = "15s", ""
		return s.work()
	}
	f.boss.lease, f.boss.pulse = "15s", ""
	doomed := work("doomed")
	k := f.start()
	eventually(t, "it works", doomed.waits)
	heir := work("heir")
	heir.says(t, "waits for items")
	killed := time.Now()
	doomed.kill()
	eventually(t, "another one has its item", heir.waits)
	took := time.Since(killed)
	t.Logf("after %s", took)
	if took > 3*promised { // more than a busy machine needs: it waited for something else than the lease
		t.Errorf("after %s, promised is %s", took, promised)
	}
	heir.open(1)
	all := f.done(k)
	if count(all, "WORK_ITEM_FINISHED", "r:draft:2:i01") != 1 {
		t.Error("the item was not done as a second attempt")
	}
	heir.leaves()
}

// An item that takes many times longer than a lease, on a host that is alive, is handed out
// once.
func TestALongItemIsDoneOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, single)
	patient := f.worker("patient")
	k := f.start()
	eventually(t, "it works", patient.waits)
	idle := f.worker("idle")
	idle.says(t, "waits for items")
	// Most of a lease passes, and again when the hosts have renewed theirs.
	for range 4 {
		f.sql(`UPDATE RUNS.hosts SET seen_at = seen_at - interval '9 hours'`)
		f.sql(`UPDATE agents SET lease_until = lease_until - 9 * 3600 * 1000000::bigint WHERE lease_owner IS NOT NULL`)
		eventually(t, "all leases are renewed", func() bool {
			return f.number(`SELECT (SELECT count(*) FROM RUNS.hosts WHERE seen_at < clock_timestamp() - interval '1 hour')
				+ (SELECT count(*) FROM agents WHERE lease_until < extract(epoch FROM clock_timestamp() + interval '9 hours') * 1000000)`) == 0
		})
	}
	patient.open(1)
	all := f.done(k)
	if n := count(all, "WORK_ITEM_QUEUED", ""); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if got := f.file("drafts/i01.txt"); got != "signed by patient" {
		t.Errorf("it is %q", got)
	}
	if n := idle.ended(); n != 0 {
		t.Errorf("the idle one had %d", n)
	}
	patient.leaves()
	idle.leaves()
}
