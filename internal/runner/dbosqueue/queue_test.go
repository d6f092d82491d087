package dbosqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/runner"
)

func TestEnqueuedTwiceDoneOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		enqueue(t, q, "r:a", "r:a", "r:b")
		s := serve(t, q, 1, nil)
		s.expect("r:a", "r:b")
		enqueue(t, q, "r:a", "r:last") // one by one: whoever does the last has passed the other
		s.expect("r:last")
		if n := s.count("r:a"); n != 1 {
			t.Errorf("handed out %d times", n)
		}
	})
}

func TestACancelledJobDoesNotStart(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		release := make(chan struct{})
		s := serve(t, q, 1, func(_ context.Context, j runner.Job) error {
			if j.ID == "r:first" {
				<-release
			}
			return nil
		})
		enqueue(t, q, "r:first")
		s.expect("r:first")
		enqueue(t, q, "r:not", "r:next")
		cancel(t, q, "r:not")
		enqueue(t, q, "r:not") // known, and not wanted
		close(release)
		s.expect("r:next")
		if err := q.Resume(t.Context(), "r:not"); err != nil {
			t.Fatal(err)
		}
		s.expect("r:not")
	})
}

func TestCancelEndsTheContextOfWhoeverDoesIt(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		var round int
		ended := make(chan error)
		s := serve(t, q, 1, func(ctx context.Context, j runner.Job) error {
			if round++; j.ID != "r:a" || round > 1 {
				return nil
			}
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		})
		enqueue(t, q, "r:a")
		s.expect("r:a")
		cancel(t, q, "r:a")
		if err := within(t, ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		enqueue(t, q, "r:a", "r:b")
		s.expect("r:b")
		if err := q.Resume(t.Context(), "r:a"); err != nil {
			t.Fatal(err)
		}
		s.expect("r:a")
	})
}

func TestWhatIsUnknown(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		cancel(t, q, "r:nobody")
		if err := q.Resume(t.Context(), "r:nobody"); !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
		if ids, err := q.Takeover(t.Context(), "nobody"); err != nil || len(ids) != 0 {
			t.Error(ids, err)
		}
		if err := q.Enqueue(t.Context(), runner.Job{ID: "r:a"}); !fault.Is(err, fault.Usage) {
			t.Error(err)
		}
		if err := q.Serve(t.Context(), nil, 1, nil); !fault.Is(err, fault.Usage) {
			t.Error(err)
		}
	})
}

func TestResumeHandsOutWhatEnded(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		s := serve(t, q, 1, nil)
		enqueue(t, q, "r:a", "r:b")
		s.expect("r:a", "r:b") // the end of a is noted
		if err := q.Resume(t.Context(), "r:a"); err != nil {
			t.Fatal(err)
		}
		s.expect("r:a")
	})
}

func TestWhatWasGivenBackWithAnErrorWasNotDone(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		s := serve(t, q, 1, func(context.Context, runner.Job) error { return errors.New("no desk") })
		enqueue(t, q, "r:a", "r:b")
		s.expect("r:a", "r:b")
		enqueue(t, q, "r:a")
		s.expect("r:a")
	})
}

func TestNeverMoreAtOnceThanAllowed(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		const most, jobs = 3, 21
		var mu sync.Mutex
		var now, highest int
		gate := make(chan struct{}, jobs)
		s := serve(t, q, most, func(context.Context, runner.Job) error {
			mu.Lock()
			now++
			highest = max(highest, now)
			mu.Unlock()
			<-gate
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		})
		var ids []string
		for i := range jobs {
			ids = append(ids, fmt.Sprintf("r:%02d", i))
		}
		enqueue(t, q, ids...)
		for range most { // all places are taken at once
			within(t, s.handed)
		}
		for range jobs - most {
			gate <- struct{}{}
			within(t, s.handed)
		}
		close(gate)
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if highest != most {
			t.Errorf("%d at once, want %d", highest, most)
		}
	})
}

func TestAHostTakesOnlyFromItsQueues(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		other := runner.Job{ID: "r:other", RunID: "r", Queue: "other"}
		if err := q.Enqueue(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		enqueue(t, q, "r:a", "r:b")
		s := serve(t, q, 2, nil)
		s.expect("r:a", "r:b")
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		got := make(chan runner.Job, 9)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- q.Serve(ctx, []string{"other"}, 2, func(_ context.Context, j runner.Job) error { got <- j; return nil })
		}()
		if j := within(t, got); j != other {
			t.Error(j)
		}
		stop()
		if err := within(t, ended); err != nil {
			t.Error(err)
		}
	})
}

func TestWhatServeLeavesUndoneWaitsAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		s := serve(t, q, 2, func(ctx context.Context, j runner.Job) error {
			<-ctx.Done()
			if j.ID == "r:done" {
				return nil
			}
			return ctx.Err()
		})
		enqueue(t, q, "r:undone", "r:done", "r:waiting")
		s.expect("r:undone", "r:done")
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		again := serve(t, q, 1, nil)
		again.expect("r:undone", "r:waiting")
		enqueue(t, q, "r:done", "r:last")
		again.expect("r:last")
	})
}

func TestAThousandJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		const jobs = 1000
		q := w.open(t, "one")
		hosts := []queue{q}
		if len(w.place) > 0 && q.Host() == "one" { // of a server there are more
			hosts = append(hosts, w.open(t, "two"), w.open(t, "three"))
		}
		var mu sync.Mutex
		times := map[string]int{}
		all := make(chan struct{})
		var servers []*server
		for _, h := range hosts {
			servers = append(servers, serve(t, h, 4, func(_ context.Context, j runner.Job) error {
				mu.Lock()
				defer mu.Unlock()
				if times[j.ID]++; len(times) == jobs && times[j.ID] == 1 {
					close(all)
				}
				return nil
			}))
		}
		for i := range jobs {
			enqueue(t, q, fmt.Sprintf("r:%d", i))
		}
		within(t, all)
		for _, s := range servers {
			if err := s.end(); err != nil {
				t.Error(err)
			}
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("%s was handed out %d times", id, n)
			}
		}
	})
}

func TestTheJobsOfADeadHostAreTakenOver(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		dead := newHost(t, w.place, "r:a", "r:b")
		if got := []string{within(t, dead.lines), within(t, dead.lines)}; !slices.Contains(got, "r:a") || !slices.Contains(got, "r:b") {
			t.Fatalf("the host says %q", got)
		}
		dead.kill()
		if said := dead.err.String(); said != "" {
			t.Errorf("the host printed %q", said)
		}

		q := w.open(t, "heir")
		s := serve(t, q, 2, nil)
		enqueue(t, q, "r:c")
		s.expect("r:c")
		ids, err := q.Takeover(t.Context(), dead.name)
		if slices.Sort(ids); err != nil || !slices.Equal(ids, []string{"r:a", "r:b"}) {
			t.Fatal(ids, err)
		}
		s.expect("r:a", "r:b")
		if ids, err := q.Takeover(t.Context(), dead.name); err != nil || len(ids) != 0 {
			t.Error(ids, err)
		}
	})
}

func TestAClosedQueueSaysSo(t *testing.T) {
	onBoth(t, func(t *testing.T, w world) {
		q := w.open(t, "one")
		s := serve(t, q, 1, func(ctx context.Context, _ runner.Job) error {
			<-ctx.Done()
			return ctx.Err()
		})
		enqueue(t, q, "r:a")
		s.expect("r:a")
		if err := q.Close(); err != nil { // ends Serve too
			t.Fatal(err)
		}
		if err := s.end(); err != nil {
			t.Error(err)
		}
		if err := q.Enqueue(t.Context(), job("r:b")); !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
		if err := q.Serve(t.Context(), []string{"work"}, 1, nil); !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
	})
}

func TestVariablesOfDBOSAreRefused(t *testing.T) {
	for _, name := range []string{"DBOS__VMID", "DBOS__APPVERSION", "DBOS__CLOUD"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "true")
			checkRefused(t)
		})
	}
}

func cancel(t *testing.T, q runner.Queue, id string) {
	t.Helper()
	if err := q.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}
