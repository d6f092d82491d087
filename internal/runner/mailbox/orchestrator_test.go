package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/runner"
	"ramet/internal/runner/mailbox"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
)

func TestAWorkerReachesTheDesk(t *testing.T) {
	address := place(t)
	boss, worker, d := open(t, address), open(t, address), newDesk()
	sum := d.input([]byte("an input"))
	serve(t, boss, 1, d)
	ctx := t.Context()

	it, err := worker.Claim(ctx, item, "host-1")
	if err != nil || !reflect.DeepEqual(it, claimed(item, "host-1")) {
		t.Errorf("claimed %+v, %v", it, err)
	}
	for range 2 {
		if data, err := worker.Fetch(ctx, item, sum); err != nil || string(data) != "an input" {
			t.Errorf("fetched %q, %v", data, err)
		}
	}
	if n := d.count("fetch", item); n != 1 {
		t.Errorf("the desk was asked %d times for one content", n)
	}
	r := runner.Report{ID: "x", Type: run.LLMCallStarted, Payload: []byte("{\"a\":1}"), Evidence: &runner.Blob{Path: "evidence/x.json", Data: []byte{0, 1, 255}}}
	testkit.OK(t, worker.Report(ctx, item, r))
	if len(d.told) != 1 || !reflect.DeepEqual(d.told[0], r) {
		t.Errorf("told %+v", d.told)
	}
	result := runner.Result{Files: []runner.Blob{{Path: "a", Data: []byte("A")}, {Path: "same", Data: []byte("A")}, {Path: "empty", Data: []byte{}}},
		Issues: []runner.Issue{{Gate: "g", Severity: runner.Warn, Code: "C", Message: "m"}}, PR: "p"}
	failure := &runner.Failure{Code: "X", Message: "why", Retryable: true}
	testkit.OK(t, worker.Deliver(ctx, item, result, failure))
	if got := d.given[item]; !reflect.DeepEqual(got, result) || !reflect.DeepEqual(d.failed[item], failure) {
		t.Errorf("given %+v, %+v", got, d.failed[item])
	}
	if err := worker.Deliver(ctx, item, runner.Result{}, nil); err != nil || d.failed[item] != nil || d.given[item].Files != nil {
		t.Error(d.given[item], d.failed[item], err)
	}
	if got := rest(t, address); got != "[answers 0 blobs 4 desks 1 requests 0]" {
		t.Error(got)
	}
}

func TestErrorsKeepTheirCodes(t *testing.T) {
	address := place(t)
	boss, worker, d := open(t, address), open(t, address), newDesk()
	serve(t, boss, 1, d)
	for _, c := range []struct {
		err  error
		code fault.Code
		text string
	}{
		{fault.New(fault.Fenced, "attempt 3 is current").WithHint("stop"), fault.Fenced, "attempt 3 is current: stop"},
		{fmt.Errorf("wrapped: %w", fault.New(fault.UnknownOutcome, "who knows")), fault.UnknownOutcome, "who knows"},
		{errors.New("plain"), fault.Failed, "plain"},
	} {
		d.mu.Lock()
		d.refuse = c.err
		d.mu.Unlock()
		_, claim := worker.Claim(t.Context(), item, "h")
		_, fetch := worker.Fetch(t.Context(), item, "none")
		for verb, err := range map[string]error{"claim": claim, "fetch": fetch, "report": worker.Report(t.Context(), item, runner.Report{}),
			"deliver": worker.Deliver(t.Context(), item, runner.Result{}, nil)} {
			if fault.CodeOf(err) != c.code || err.Error() != c.text {
				t.Errorf("%s: %s %v, want %s %s", verb, fault.CodeOf(err), err, c.code, c.text)
			}
		}
	}
	if _, err := worker.Claim(t.Context(), "no run", "h"); !fault.Is(err, fault.InvalidID) {
		t.Error(err)
	}
}

// Requests and answers are lost with their connections, on both sides.
func TestNothingIsLostOrDoneTwiceWithConnections(t *testing.T) {
	mailbox.Hasten(t, 50*time.Millisecond, time.Second, time.Minute)
	address := place(t)
	toBoss, toWorker := pgtest.Through(t, address), pgtest.Through(t, address)
	d := newDesk()
	sum := d.input([]byte("an input"))
	boss, worker := open(t, toBoss.URL), open(t, toWorker.URL)
	serve(t, boss, 1, d)
	toBoss.CutAt(cuts("ramet_answered", "ramet_answered", "ramet_answered")...)
	toWorker.CutAt(cuts("claim", "report", "deliver", "claim", "deliver")...)
	const items = 20
	var all sync.WaitGroup
	for lane := range 4 {
		all.Go(func() {
			for i := range items / 4 {
				id := fmt.Sprintf("%s:draft:1:%d-%d", runID, lane, i)
				if _, err := worker.Claim(t.Context(), id, "h"); err != nil {
					t.Error(id, err)
				}
				if _, err := worker.Fetch(t.Context(), id, sum); err != nil {
					t.Error(id, err)
				}
				if err := worker.Report(t.Context(), id, runner.Report{ID: id}); err != nil {
					t.Error(id, err)
				}
				if err := worker.Deliver(t.Context(), id, runner.Result{Files: []runner.Blob{{Path: id, Data: []byte(id)}}}, nil); err != nil {
					t.Error(id, err)
				}
				for _, verb := range []string{"claim", "report", "deliver"} {
					if n := d.count(verb, id); n != 1 {
						t.Errorf("%s %s: the desk was called %d times", verb, id, n)
					}
				}
			}
		})
	}
	all.Wait()
	if boss, worker := toBoss.CutsLeft(), toWorker.CutsLeft(); boss+worker > 0 {
		t.Errorf("%d and %d cuts were not made", boss, worker)
	}
	toBoss.Cut() // all at once
	toWorker.Cut()
	testkit.Must(worker.Claim(t.Context(), item, "h"))(t)
}

// cuts lose each of some messages, and then the answer to the next such message.
func cuts(words ...string) (all []pgtest.CutPoint) {
	for _, word := range words {
		all = append(all, pgtest.CutPoint{Word: word}, pgtest.CutPoint{Word: word, Sent: true})
	}
	return all
}

func TestLargeContents(t *testing.T) {
	address := place(t)
	boss, worker, d := open(t, address), open(t, address), newDesk()
	serve(t, boss, 1, d)
	data := make([]byte, 8<<20)
	rand.NewChaCha8([32]byte{1}).Read(data)
	sum := d.input(data)
	if got, err := worker.Fetch(t.Context(), item, sum); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	data = append([]byte("and "), data...)
	testkit.OK(t, worker.Deliver(t.Context(), item, runner.Result{Files: []runner.Blob{{Path: "big", Data: data}}}, nil))
	if !bytes.Equal(d.given[item].Files[0].Data, data) {
		t.Error("it arrived changed")
	}
	query(t, address, `UPDATE blobs SET data = set_byte(data, 4000000, 1 - sign(get_byte(data, 4000000))::int) WHERE sha256 = $1`, sum)
	if _, err := worker.Fetch(t.Context(), item, sum); !fault.Is(err, fault.StorageCorrupt) {
		t.Error(err)
	}
}

func TestWhatIsWrongInTheTablesIsRefused(t *testing.T) {
	mailbox.Hasten(t, 10*time.Millisecond, time.Second, time.Minute) // nobody calls
	address := place(t)
	boss, d := open(t, address), newDesk()
	serve(t, boss, 1, d)
	for _, c := range []struct {
		item, verb, body string
		want             fault.Code
	}{
		{item, "claim", "{", fault.InvalidText},
		{item, "dance", "{}", fault.Usage},
		{"other:draft:1:x", "claim", "{}", fault.InvalidID},
		{item, "deliver", `{"Files":[{"Path":"p","SHA256":"unknown"}]}`, fault.NotFound},
		{item, "report", `{"Evidence":{"Path":"p"}}`, fault.NotFound},
	} {
		id := uuid.New()
		query(t, address, `INSERT INTO requests (id, run_id, item_id, verb, body) VALUES ($1, $2, $3, $4, $5)`, id, runID, c.item, c.verb, []byte(c.body))
		var rows [][]any
		testkit.WaitUntil(t, "it is answered", func() bool {
			rows = query(t, address, `SELECT code FROM answers WHERE id = $1`, id)
			return len(rows) > 0
		})
		if len(rows) != 1 || rows[0][0] != string(c.want) {
			t.Errorf("%s %s %s: %v, want %s", c.item, c.verb, c.body, rows, c.want)
		}
	}
}

func TestEveryCallEndsWithItsContext(t *testing.T) {
	address := place(t)
	boss, worker, d := open(t, address), open(t, address), newDesk()
	asked, leave := make(chan struct{}, 9), make(chan struct{})
	d.before = func(string) { asked <- struct{}{}; <-leave }
	serve(t, boss, 1, d)
	for name, call := range map[string]func(ctx context.Context) error{
		"claim":   func(ctx context.Context) error { _, err := worker.Claim(ctx, item, "h"); return err },
		"fetch":   func(ctx context.Context) error { _, err := worker.Fetch(ctx, item, "s"); return err },
		"report":  func(ctx context.Context) error { return worker.Report(ctx, item, runner.Report{}) },
		"deliver": func(ctx context.Context) error { return worker.Deliver(ctx, item, runner.Result{}, nil) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx) }()
		within(t, asked)
		cancel()
		if err := within(t, ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(leave)
}
