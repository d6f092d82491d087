package riverqueue_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/runner"
	"ramet/internal/runner/riverqueue"
	"ramet/internal/testkit"
	. "ramet/internal/testkit/runtest"
)

func takeover(t *testing.T, q runner.Queue, host string, want ...string) {
	t.Helper()
	ids, err := q.Takeover(t.Context(), host)
	if slices.Sort(ids); err != nil || !slices.Equal(ids, want) {
		t.Fatal(ids, err)
	}
}

func TestTheJobsOfADeadHostAreTakenOver(t *testing.T) {
	address := place(t)
	q := open(t, address, "heir")
	dead := newHost(t, address, "doomed")
	EnqueueJob(t, q, "r:a", "r:b", "r:c")
	dead.says("r:a", "r:b")
	dead.kill()
	if said := dead.err.String(); said != "" {
		t.Errorf("the host printed %q", said)
	}
	EnqueueJob(t, q, "r:a") // nobody knows yet that it is dead
	s := ServeQueue(t, q, 2, nil)
	s.Expect("r:c")
	CancelJob(t, q, "r:b") // the log says that it is not current any more
	takeover(t, q, "doomed", "r:a")
	s.Expect("r:a")
	takeover(t, q, "doomed")
	EnqueueJob(t, q, "r:b")
	s.Expect("r:b")
}

// River's rescue, which is by age, ends what a dead host left and was cancelled, and
// nothing else. Here it takes everything for old.
func TestAJobOfALivingHostIsNeverHandedOutTwice(t *testing.T) {
	riverqueue.Rescue(t, time.Millisecond)
	address := place(t)
	boss := open(t, address, "boss")
	// Of all clients of River, the first leads: it alone looks for old rows, when it begins.
	leader := ServeQueues(t, open(t, address, "leader"), []string{"nothing"}, 1, nil)
	testkit.WaitUntil(t, "there is a leader", func() bool {
		return len(query(t, address, `SELECT FROM `+strings.Replace(table(t, address), "river_job", "river_leader", 1))) > 0
	})
	dead := newHost(t, address, "dead")
	EnqueueJob(t, boss, "r:old", "r:older")
	dead.says("r:old", "r:older")
	dead.kill()
	takeover(t, boss, "dead", "r:old", "r:older")
	CancelJob(t, boss, "r:old")
	CancelJob(t, boss, "r:older")

	EnqueueJob(t, boss, "r:long")
	long := make(chan struct{})
	s := ServeQueue(t, boss, 2, func(_ context.Context, j runner.Enqueued) error {
		if j.ID == "r:long" {
			<-long
		}
		return nil
	})
	s.Expect("r:long")
	testkit.OK(t, leader.End())
	state := func(id string) string {
		rows := query(t, address, `SELECT state::text FROM `+table(t, address)+` WHERE args->>'id' = $1 AND (args->>'round')::int = 0`, id)
		return fmt.Sprint(rows)
	}
	testkit.WaitUntil(t, "River has cancelled the old jobs", func() bool {
		return state("r:old") == "[[cancelled]]" && state("r:older") == "[[cancelled]]"
	})
	if got := state("r:long"); got != "[[running]]" {
		t.Errorf("the row is %s", got)
	}
	EnqueueJob(t, boss, "r:long", "r:next")
	s.Expect("r:next")
	if n := s.Count("r:long"); n != 1 {
		t.Errorf("handed out %d times", n)
	}
	close(long)
}

func TestThreeHostsShareJobs(t *testing.T) {
	address := place(t)
	jobs := 200
	if testkit.SoakOn() {
		jobs = 1000
	}
	var servers []*QueueServer
	for _, name := range []string{"one", "two", "three"} {
		servers = append(servers, ServeQueue(t, open(t, address, name), 4, nil))
	}
	q := open(t, address, "boss")
	var ids []string
	for i := range jobs {
		ids = append(ids, fmt.Sprintf("r:%d", i))
	}
	for some := range slices.Chunk(ids, 100) {
		EnqueueJob(t, q, some...)
	}
	times := map[string]int{}
	for len(times) < jobs {
		select {
		case j := <-servers[0].Handed:
			times[j.ID]++
		case j := <-servers[1].Handed:
			times[j.ID]++
		case j := <-servers[2].Handed:
			times[j.ID]++
		case <-time.After(5 * time.Minute):
			t.Fatalf("%d of %d", len(times), jobs)
		}
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s was handed out %d times", id, n)
		}
	}
}

func TestThreeHostsShareJobsSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestThreeHostsShareJobs(t)
}

func TestManyJobsWait(t *testing.T) {
	address := place(t)
	q := open(t, address, "one")
	jobs := 2000
	if testkit.SoakOn() {
		jobs = 100_000
	}
	id := func(i int) string { return fmt.Sprintf("r:w:1:%06d", i) }
	for i := 0; i < jobs; i += 1000 {
		ids := make([]string, 1000)
		for k := range ids {
			ids[k] = id(i + k)
		}
		EnqueueJob(t, q, ids...)
	}
	CancelJob(t, q, id(0))
	CancelJob(t, q, id(jobs-1))
	EnqueueJob(t, q, id(5))
	s := ServeQueue(t, q, 1, nil)
	for i := range 100 { // the oldest first
		if j := WithinTime(t, s.Handed); j != NewJob(id(i+1)) {
			t.Fatalf("%v is number %d", j, i)
		}
	}
	testkit.OK(t, s.End())
	testkit.OK(t, q.Clear(t.Context(), "r"))
	if n := query(t, address, `SELECT count(*) FROM `+table(t, address))[0][0]; n != int64(0) {
		t.Errorf("%v are left", n)
	}
}

func TestManyJobsWaitSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestManyJobsWait(t)
}
