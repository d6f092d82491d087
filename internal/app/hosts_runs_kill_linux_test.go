package app_test

import (
	"testing"
	"time"
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
func TestAKilledHostIsReplacedInTime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("20 s")
	}
	const lease, promised = "15s", 20 * time.Second
	f := newFleet(t, single)
	f.boss.lease = lease
	s := f.site("doomed")
	s.lease = lease
	doomed := s.work()
	k := f.start()
	eventually(t, "it works", doomed.waits)
	s = f.site("heir")
	s.lease = lease
	heir := s.work()
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

// An item that takes many times longer than lease and heart-beat, on a host that is alive,
// is handed out once.
func TestALongItemIsDoneOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, single)
	patient := f.worker("patient")
	k := f.start()
	eventually(t, "it works", patient.waits)
	idle := f.worker("idle")
	idle.says(t, "waits for items")
	time.Sleep(3 * 5 * time.Second) // it is what is tested: time goes by, and nothing happens
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
