package app_test

import (
	"fmt"
	"testing"

	"ramet/internal/testkit/pgtest"
)

// swift has items that take no time.
const swift = `
name: swift
description: for tests
states:
  DRAFTING: [draft]
workers:
  draft:
    each: [i01, i02, i03, i04, i05, i06]
    prompt: 'write {{scope}}'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

func TestNothingIsLostWithTheConnectionsOfAHost(t *testing.T) {
	t.Parallel()
	f := newFleet(t, swift)
	s := f.site("far")
	wire := pgtest.Through(t, s.db)
	s.db = wire.URL
	w := s.work()
	w.says(t, "waits for items")
	eventually(t, "it is connected", func() bool { return wire.Open() > 0 })
	wire.Cut()
	wire.CutAt(pgtest.CutPoint{Word: "claim"}, pgtest.CutPoint{Word: "claim", Sent: true}, pgtest.CutPoint{Word: "deliver"}, pgtest.CutPoint{Word: "deliver", Sent: true},
		pgtest.CutPoint{Word: "LLM_CALL_FINISHED", Sent: true}, pgtest.CutPoint{Word: "queue_name", Sent: true})
	f.done(f.start())
	for i := 1; i <= 6; i++ {
		if got, want := f.file(fmt.Sprintf("drafts/i%02d.txt", i)), fmt.Sprintf("page i%02d", i); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
	if n := wire.CutsLeft(); n > 1 { // the last one may come after the end
		t.Errorf("%d cuts were not made", n)
	}
	wire.CutAt()
	w.leaves()
	w.quiet()
}

func TestAHostThatIsCutOffLosesItsItem(t *testing.T) {
	t.Parallel()
	f := newFleet(t, signed)
	s := f.site("far")
	wire := pgtest.Through(t, s.db)
	s.db = wire.URL
	far := s.work()
	k := f.start()
	eventually(t, "it works", far.waits)
	wire.Down(true)
	f.giveUp(far)
	far.open(1) // it goes on, and has nobody to tell
	near := f.worker("near")
	near.open(4)
	all := f.done(k)
	if count(all, "WORK_ITEM_FINISHED", "r:draft:1:i01") != 0 || f.file("drafts/i01.txt") != "signed by near" {
		t.Error("the late result counted")
	}
	// Connected again it goes on with what there is.
	near.leaves()
	wire.Down(false)
	f.run = "next"
	far.open(8)
	all = f.done(f.start())
	if n := count(all, "WORK_ITEM_FAILED", ""); n != 0 {
		t.Errorf("%d failed", n)
	}
	far.leaves()
	far.quiet()
}
