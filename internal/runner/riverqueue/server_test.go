package riverqueue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/runner"
	"ramet/internal/runner/riverqueue"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	. "ramet/internal/testkit/runtest"
)

func TestHostsThatOpenAtOnceMakeOneQueue(t *testing.T) {
	address := place(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			q, err := riverqueue.Open(t.Context(), address, fmt.Sprintf("host %d", i))
			if err == nil {
				err = q.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	before := versions(t, address)
	open(t, address, "next") // nothing is left to do
	if after := versions(t, address); after != before {
		t.Errorf("%s, before that %s", after, before)
	}
}

func versions(t *testing.T, address string) string {
	return fmt.Sprint(query(t, address, `SELECT version, created_at FROM `+strings.Replace(table(t, address), "river_job", "river_migration", 1)+` ORDER BY version`))
}

// Whatever names hosts, queues and schemas have, River takes them, and none for another.
func TestNames(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"work", "Work", "work-", "a--b", "a b", "ä", strings.Repeat("a", 100), strings.Repeat("a", 99), "q-work", "work#1", "work#2"} {
		queue, host := riverqueue.Names(name, name)
		for _, n := range []string{queue, host} {
			if seen[n] != "" || len(n) > 100 {
				t.Errorf("%q is %q, like %q", name, n, seen[n])
			}
			seen[n] = name
		}
	}
	for _, schema := range []string{"ramet", strings.Repeat("s", 60), "with space"} {
		if n := riverqueue.Besides(schema); len(n) > 46 || strings.Contains(n, " ") {
			t.Error(n)
		}
	}
}

func TestCancelIsHeardOnOtherHosts(t *testing.T) {
	address := place(t)
	boss, worker := open(t, address, "boss"), open(t, address, "worker")
	ended := make(chan error)
	s := ServeQueue(t, worker, 1, func(ctx context.Context, j runner.Enqueued) error {
		if j.ID != "r:a" {
			return nil
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	EnqueueJob(t, boss, "r:a")
	s.Expect("r:a")
	CancelJob(t, boss, "r:a")
	if err := WithinTime(t, ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	EnqueueJob(t, boss, "r:b")
	s.Expect("r:b")
}

// A host whose connection was lost in between hears nothing of a cancellation, and may not
// even know that it was handed a job. It finds out.
func TestWhatAHostDidNotHear(t *testing.T) {
	riverqueue.Hasten(t, time.Hour, 0) // it compares when the test says so
	address := place(t)
	q := open(t, address, "one")
	ended := make(chan error, 1)
	s := ServeQueue(t, q, 2, func(ctx context.Context, j runner.Enqueued) error {
		if j.ID == "r:a" {
			<-ctx.Done()
			ended <- ctx.Err()
		}
		return ctx.Err()
	})
	EnqueueJob(t, q, "r:a")
	s.Expect("r:a")
	query(t, address, `UPDATE `+table(t, address)+` SET metadata = metadata || '{"output": "given up"}' WHERE args->>'id' = 'r:a'`)
	compare := func() {
		t.Helper()
		testkit.OK(t, q.Compare(t.Context()))
	}
	compare()
	if err := WithinTime(t, ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// Nobody is told of this one.
	_, client := riverqueue.Names("", "one")
	query(t, address, `INSERT INTO `+table(t, address)+` (args, attempt, attempted_at, attempted_by, kind, max_attempts, queue, state)
		VALUES ('{"id": "r:b", "round": 0, "run_id": "r", "queue": "work"}', 1, now(), ARRAY[$1], 'ramet.item', 1, 'q-work', 'running')`, client)
	compare()
	compare() // it is still not done here
	s.Expect("r:b")
}

func TestClearForgetsOneRun(t *testing.T) {
	address := place(t)
	q := open(t, address, "one")
	release := make(chan struct{})
	s := ServeQueue(t, q, 1, func(ctx context.Context, j runner.Enqueued) error {
		if j.ID == "r:busy" {
			<-ctx.Done()
			close(release)
		}
		return nil
	})
	for _, j := range []runner.Enqueued{{ID: "r:a", RunID: "r", Queue: "work"}, {ID: "r2:a", RunID: "r2", Queue: "work"}, {ID: "r:busy", RunID: "r", Queue: "work"}, {ID: "r:waits", RunID: "r", Queue: "work"}} {
		testkit.OK(t, q.Enqueue(t.Context(), j))
	}
	s.Expect("r:a", "r2:a", "r:busy")
	testkit.OK(t, q.Clear(t.Context(), "r"))
	WithinTime(t, release) // what is being done is told
	testkit.OK(t, s.End())
	testkit.OK(t, q.Clear(t.Context(), "r"))
	if rows := query(t, address, `SELECT args->>'id' FROM `+table(t, address)); len(rows) != 1 || rows[0][0] != "r2:a" {
		t.Errorf("left: %v", rows)
	}
	if err := q.Clear(t.Context(), ""); err == nil {
		t.Error("no run has that id")
	}
}

// Every connection is cut again and again while jobs are enqueued and done.
func TestNothingIsLostWithConnections(t *testing.T) {
	riverqueue.Hasten(t, 50*time.Millisecond, 500*time.Millisecond)
	address := place(t)
	q := open(t, address, "one")
	const jobs = 60
	var mu sync.Mutex
	done := map[string]bool{}
	all := make(chan struct{})
	ServeQueue(t, q, 4, func(_ context.Context, j runner.Enqueued) error {
		mu.Lock()
		defer mu.Unlock()
		if !done[j.ID] {
			if done[j.ID] = true; len(done) == jobs {
				close(all)
			}
		}
		return nil
	})
	for i := range jobs {
		if i%15 == 14 {
			// Those of this queue alone: others use the same server.
			query(t, address, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%`+schemaOf(t, address)+`%' AND pid <> pg_backend_pid()`)
		}
		EnqueueJob(t, q, fmt.Sprintf("r:%d", i))
	}
	WithinTime(t, all)
}

func TestOneHostServesOnce(t *testing.T) {
	address := place(t)
	q := open(t, address, "one")
	s := ServeQueue(t, q, 1, nil)
	EnqueueJob(t, q, "r:a")
	s.Expect("r:a")
	if err := q.Serve(t.Context(), []string{"work"}, 1, nil); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	Leakless(t)
	riverqueue.OpenTries(t, 2)
	_, err := riverqueue.Open(t.Context(), "postgres://ramet:secret@127.0.0.1:1/none?connect_timeout=2", "one")
	if !fault.Is(err, fault.StorageUnreachable) || strings.Contains(fmt.Sprintf("%+v", err), "secret") {
		t.Error(err)
	}
	if _, err := riverqueue.Open(t.Context(), "postgres://ramet@127.0.0.1:1/none", ""); !fault.Is(err, fault.Usage) {
		t.Error(err)
	}
}

// Nothing of an error but its code is stored.
func TestNoTextIsStored(t *testing.T) {
	address := place(t)
	q := open(t, address, "one")
	s := ServeQueue(t, q, 1, func(context.Context, runner.Enqueued) error {
		return fault.New(fault.StorageFull, "the words of a repository")
	})
	EnqueueJob(t, q, "r:a", "r:b")
	s.Expect("r:a", "r:b")
	testkit.OK(t, s.End())
	text := fmt.Sprint(query(t, address, `SELECT j::text FROM `+table(t, address)+` j`))
	if !strings.Contains(text, "STORAGE_FULL") || strings.Contains(text, "repository") {
		t.Error(text)
	}
}

// A host whose connections are cut while it begins to serve, after whatever question, does jobs
// all the same.
func TestAHostThatIsCutWhileItStarts(t *testing.T) {
	address := place(t)
	boss := open(t, address, "boss")
	defer riverqueue.Settle(time.Second)()
	for after := 1; after <= 16; after += 3 {
		job, host := NewJob(fmt.Sprintf("r:%d", after)), fmt.Sprintf("host %d", after)
		network := pgtest.Through(t, address)
		q := testkit.Must(riverqueue.Open(t.Context(), network.URL, host))(t)
		ctx, stop := context.WithCancel(t.Context())
		done, served := make(chan string, 100), make(chan error, 1)
		asked := network.Asked()
		go func() {
			served <- q.Serve(ctx, []string{"work"}, 1, func(_ context.Context, j runner.Enqueued) error {
				done <- j.ID
				return nil
			})
		}()
		testkit.WaitUntil(t, "it has asked its questions", func() bool { return network.Asked() >= asked+after || len(served) > 0 })
		network.Cut()
		testkit.OK(t, boss.Enqueue(t.Context(), job))
		select {
		case <-done:
		case err := <-served:
			t.Fatalf("after %d questions it ends: %v", after, err)
		case <-time.After(5 * time.Minute):
			t.Fatalf("cut after %d questions it does nothing", after)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}
