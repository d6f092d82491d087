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
