package dbosqueue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/pgtest"
	"ramet/internal/runner"
	"ramet/internal/runner/dbosqueue"
)

// onServer is a place for queues on PostgreSQL.
func onServer(t *testing.T) string {
	address := pgtest.URL(t)
	t.Cleanup(func() { drop(t, address) })
	leakless(t)
	return address
}

func TestHostsThatOpenAtOnceMakeOneQueue(t *testing.T) {
	address := onServer(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			q, err := dbosqueue.OpenServer(t.Context(), address, fmt.Sprintf("host %d", i))
			if err == nil {
				err = q.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestCancelIsHeardOnOtherHosts(t *testing.T) {
	address := onServer(t)
	boss, worker := openServer(t, address, "boss"), openServer(t, address, "worker")
	ended := make(chan error)
	s := serve(t, worker, 1, func(ctx context.Context, j runner.Job) error {
		if j.ID != "r:a" {
			return nil
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	enqueue(t, boss, "r:a")
	s.expect("r:a")
	cancel(t, boss, "r:a")
	if err := within(t, ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	enqueue(t, boss, "r:b")
	s.expect("r:b")
}

func TestAHostThatWasOvertakenStops(t *testing.T) {
	address := onServer(t)
	boss, slow := openServer(t, address, "boss"), openServer(t, address, "slow")
	ended := make(chan error)
	s := serve(t, slow, 1, func(ctx context.Context, _ runner.Job) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	enqueue(t, boss, "r:a")
	s.expect("r:a")
	heir := serve(t, boss, 1, nil)
	if ids, err := boss.Takeover(t.Context(), "slow"); err != nil || len(ids) != 1 {
		t.Fatal(ids, err)
	}
	within(t, ended)
	// It goes to whoever is faster; the slow one has a free place again, too.
	select {
	case j := <-heir.handed:
		if j.ID != "r:a" {
			t.Error(j)
		}
	case j := <-s.handed:
		if j.ID != "r:a" {
			t.Error(j)
		}
		cancel(t, boss, "r:a")
		within(t, ended)
	}
}

// A host that was taken for dead, and was not, goes on with other jobs.
func TestAHostThatComesBackGetsJobsAgain(t *testing.T) {
	address := onServer(t)
	boss, back := openServer(t, address, "boss"), openServer(t, address, "back")
	s := serve(t, back, 1, nil)
	enqueue(t, boss, "r:a")
	s.expect("r:a")
	for len(query(t, address, `SELECT FROM `+schemaOf(t, address)+`.workflow_status WHERE status = 'PENDING'`)) > 0 { // its end is noted
	}
	if _, err := boss.Takeover(t.Context(), "back"); err != nil {
		t.Fatal(err)
	}
	if rows := query(t, address, `SELECT name FROM `+schemaOf(t, address)+`.queues WHERE name LIKE 'host:%'`); len(rows) != 0 {
		t.Errorf("left: %v", rows)
	}
	// Its queue is made anew within some seconds, and then it is handed jobs.
	enqueue(t, boss, "r:b")
	s.expect("r:b")
}

func TestClearForgetsOneRun(t *testing.T) {
	address := onServer(t)
	q := openServer(t, address, "one")
	s := serve(t, q, 1, nil)
	for _, id := range []string{"r:a", "r2:a", "r:b"} {
		enqueue(t, q, id)
		s.expect(id)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if err := q.Clear(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"workflow_status", "workflow_input", "workflow_output"} {
		rows := query(t, address, `SELECT workflow_uuid FROM `+schemaOf(t, address)+`.`+table)
		if len(rows) != 1 || rows[0][0] != "r2:a" {
			t.Errorf("%s holds %v", table, rows)
		}
	}
	if err := q.Clear(t.Context(), ""); !fault.Is(err, fault.InvalidID) {
		t.Error(err)
	}
}

// Every connection is cut again and again while jobs are enqueued and done.
func TestNothingIsLostWithConnections(t *testing.T) {
	address := onServer(t)
	q := openServer(t, address, "one")
	const jobs = 60
	var mu sync.Mutex
	done := map[string]bool{}
	all := make(chan struct{})
	serve(t, q, 4, func(_ context.Context, j runner.Job) error {
		mu.Lock()
		defer mu.Unlock()
		if done[j.ID] = true; len(done) == jobs {
			close(all)
		}
		return nil
	})
	for i := range jobs {
		if i%15 == 14 {
			// Those of this queue alone: others use the same server.
			query(t, address, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%`+schemaOf(t, address)+`%' AND pid <> pg_backend_pid()`)
		}
		enqueue(t, q, fmt.Sprintf("r:%d", i))
	}
	within(t, all)
}

func TestOneHostServesOnce(t *testing.T) {
	address := onServer(t)
	q := openServer(t, address, "one")
	s := serve(t, q, 1, nil)
	enqueue(t, q, "r:a")
	s.expect("r:a")
	var called atomic.Bool
	err := q.Serve(t.Context(), []string{"work"}, 1, func(context.Context, runner.Job) error { called.Store(true); return nil })
	if !fault.Is(err, fault.Conflict) || called.Load() {
		t.Error(err)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	leakless(t)
	_, err := dbosqueue.OpenServer(t.Context(), "postgres://ramet@127.0.0.1:1/none?connect_timeout=2", "one")
	if !fault.Is(err, fault.StorageUnreachable) {
		t.Error(err)
	}
	if _, err := dbosqueue.OpenServer(t.Context(), "postgres://ramet@127.0.0.1:1/none", ""); !fault.Is(err, fault.Usage) {
		t.Error(err)
	}
}
