package riverqueue_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ramet/internal/runner"
	"ramet/internal/runner/riverqueue"
	"ramet/internal/testkit"
	"ramet/internal/testkit/pgtest"
	. "ramet/internal/testkit/runtest"
)

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
