package mailbox_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
	"ramet/internal/runner/mailbox"
	"ramet/internal/testkit"
)

func TestWhatWasAnsweredIsNotAskedAgain(t *testing.T) {
	address := place(t)
	first, second := newDesk(), newDesk()
	boss, worker := open(t, address), open(t, address)
	// A worker that asked and was cut off before it could read.
	id := uuid.New()
	end := serve(t, boss, 1, first)
	if _, err := worker.Claim(t.Context(), item, "h"); err != nil { // somebody is there
		t.Fatal(err)
	}
	query(t, address, `INSERT INTO requests (id, run_id, item_id, verb, body) VALUES ($1, $2, $3, 'claim', '{}')`, id, runID, item+"2")
	if _, err := worker.Claim(t.Context(), item, "h"); err != nil { // calls, and comes after it
		t.Fatal(err)
	}
	testkit.OK(t, end())
	if n := query(t, address, `SELECT count(*) FROM answers WHERE id = $1 AND code = ''`, id)[0][0]; n != int64(1) {
		t.Fatalf("%v answers", n)
	}

	serve(t, boss, 2, second)
	testkit.Must(worker.Claim(t.Context(), item, "h"))(t)
	if a, b := first.count("claim", item+"2"), second.count("claim", item+"2"); a != 1 || b != 0 {
		t.Errorf("asked %d times, then %d times", a, b)
	}
}

func TestAStaleOrchestratorDoesNotAnswer(t *testing.T) {
	mailbox.Hasten(t, 20*time.Millisecond, time.Minute, time.Minute)
	address := place(t)
	stale, fresh := newDesk(), newDesk()
	stale.refuse = fault.New(fault.Conflict, "a word of the stale one")
	old, boss, worker := open(t, address), open(t, address), open(t, address)
	var leave [2]chan struct{}
	taken := make(chan struct{}, 2)
	for i, d := range []*orchestratorLease{stale, fresh} {
		leave[i] = make(chan struct{})
		d.before = func(string) { taken <- struct{}{}; <-leave[i] }
	}
	end := serve(t, old, 5, stale)
	said := make(chan error, 1)
	go func() {
		_, err := worker.Claim(t.Context(), item, "h")
		said <- err
	}()
	within(t, taken)
	serve(t, boss, 6, fresh)
	within(t, taken) // both have the same request in their hands
	close(leave[0])
	for stale.count("claim", item) == 0 {
	}
	if err := end(); err != nil { // it has written what it had to say, by now
		t.Error(err)
	}
	if n := query(t, address, `SELECT count(*) FROM answers`)[0][0]; n != int64(0) {
		t.Errorf("%v answers", n)
	}
	close(leave[1])
	if err := within(t, said); err != nil {
		t.Errorf("the fresh one says %v", err)
	}
	if err := mailbox.ServeRun(t.Context(), old, runID, 5, stale); !fault.Is(err, fault.Fenced) {
		t.Error(err)
	}
}

func TestAnOvertakenServeEnds(t *testing.T) {
	mailbox.Hasten(t, 20*time.Millisecond, 20*time.Millisecond, time.Minute)
	address := place(t)
	old, boss, worker := open(t, address), open(t, address), open(t, address)
	ended := make(chan error, 1)
	go func() { ended <- mailbox.ServeRun(t.Context(), old, runID, 1, newDesk()) }()
	testkit.Must(worker.Claim(t.Context(), item, "h"))(t)
	serve(t, boss, 2, newDesk())
	if err := within(t, ended); !fault.Is(err, fault.Fenced) {
		t.Error(err)
	}
}

func TestOneProcessServesARunOnce(t *testing.T) {
	address := place(t)
	boss, worker := open(t, address), open(t, address)
	serve(t, boss, 1, newDesk())
	testkit.Must(worker.Claim(t.Context(), item, "h"))(t)
	if err := mailbox.ServeRun(t.Context(), boss, runID, 1, newDesk()); !fault.Is(err, fault.Locked) {
		t.Error(err)
	}
	if err := mailbox.ServeRun(t.Context(), boss, "a:b", 1, newDesk()); err == nil {
		t.Error("no run has that id")
	}
}

func TestNobodyIsWaitedForInVain(t *testing.T) {
	mailbox.Hasten(t, 10*time.Millisecond, time.Second, 50*time.Millisecond)
	address := place(t)
	boss, worker := open(t, address), open(t, address)
	if _, err := worker.Claim(t.Context(), item, "h"); !fault.Is(err, fault.NotFound) {
		t.Errorf("before there was any: %v", err)
	}
	mailbox.Hasten(t, 10*time.Millisecond, 10*time.Millisecond, time.Minute)
	end := serve(t, boss, 1, newDesk())
	testkit.Must(worker.Claim(t.Context(), item, "h"))(t)
	testkit.OK(t, end())
	mailbox.Hasten(t, 10*time.Millisecond, time.Second, 50*time.Millisecond)
	if _, err := worker.Claim(t.Context(), item, "h"); !fault.Is(err, fault.NotFound) {
		t.Errorf("after it was gone: %v", err)
	}
	if got := rest(t, address); got != "[answers 0 blobs 0 desks 1 requests 0]" {
		t.Error(got)
	}
}

func TestAForgottenRequestIsToldAgain(t *testing.T) {
	mailbox.Hasten(t, 10*time.Millisecond, time.Second, time.Minute)
	address := place(t)
	boss, worker, d := open(t, address), open(t, address), newDesk()
	end := serve(t, boss, 1, newDesk())
	testkit.Must(worker.Claim(t.Context(), item, "h"))(t)
	testkit.OK(t, end())
	said := make(chan error, 1)
	go func() {
		said <- worker.Deliver(t.Context(), item, runner.Result{Files: []runner.Blob{{Path: "p", Data: []byte("x")}}}, nil)
	}()
	for query(t, address, `SELECT count(*) FROM requests`)[0][0] == int64(0) {
	}
	query(t, address, `WITH a AS (DELETE FROM requests) DELETE FROM blobs`) // as if it crashed
	serve(t, boss, 2, d)
	if err := within(t, said); err != nil || len(d.given[item].Files) != 1 {
		t.Error(d.given[item], err)
	}
}

func TestClearLeavesNothing(t *testing.T) {
	mailbox.Hasten(t, 10*time.Millisecond, time.Second, time.Minute)
	address := place(t)
	boss, worker, d := open(t, address), open(t, address), newDesk()
	end := serve(t, boss, 1, d)
	secret := runner.Result{Files: []runner.Blob{{Path: "p", Data: []byte("secret")}}}
	testkit.OK(t, worker.Deliver(t.Context(), item, secret, nil))
	testkit.OK(t, end())
	// One that is waiting is told that there is nothing to wait for.
	said := make(chan error, 1)
	go func() { said <- worker.Deliver(t.Context(), item, secret, nil) }()
	for query(t, address, `SELECT count(*) FROM requests`)[0][0] == int64(0) {
	}
	testkit.OK(t, boss.Clear(t.Context(), runID))
	if err := within(t, said); !fault.Is(err, fault.Fenced) {
		t.Error(err)
	}
	// So is one that comes late.
	if err := worker.Deliver(t.Context(), item, secret, nil); !fault.Is(err, fault.Fenced) {
		t.Error(err)
	}
	if got := rest(t, address); got != "[answers 0 blobs 0 desks 0 requests 0]" {
		t.Error(got)
	}
}

func TestThoseWhoOpenAtOnceMakeOnePost(t *testing.T) {
	address := place(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			c, err := mailbox.Open(t.Context(), address)
			if err == nil {
				err = c.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	query(t, address, `UPDATE format SET version = version + 1`)
	if _, err := mailbox.Open(t.Context(), address); !fault.Is(err, fault.StorageNewer) {
		t.Error(err)
	}
	query(t, address, `DROP TABLE format`)
	if _, err := mailbox.Open(t.Context(), address); !fault.Is(err, fault.StorageForeign) {
		t.Error(err)
	}
	mailbox.OpenTries(t, 2)
	if _, err := mailbox.Open(t.Context(), "postgres://ramet:secret@127.0.0.1:1/none?connect_timeout=1"); !fault.Is(err, fault.StorageUnreachable) {
		t.Error(err)
	} else if text := fmt.Sprintf("%v %+v", err, err); len(text) == 0 || contains(text, "secret") {
		t.Error(text)
	}
}
