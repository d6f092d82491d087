package runner_test

import (
	"context"
	"fmt"

	"ramet/internal/runner"
)

// A queue hands out the ids of attempts, the oldest first; a host does them.
func ExampleMemoryQueue() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	q := runner.NewMemoryQueue()
	defer q.Close()

	var queue runner.Queue = q
	for _, scope := range []string{"intro", "api"} {
		attempt := runner.Enqueued{ID: "r1:writer:1:" + scope, RunID: "r1", Queue: runner.Work}
		if err := queue.Enqueue(ctx, attempt, attempt); err != nil { // one that waits already stays as it is
			panic(err)
		}
	}
	left := 2
	var host runner.Host = q
	err := host.Serve(ctx, []string{runner.Work}, 1, func(_ context.Context, a runner.Enqueued) error {
		fmt.Println(a.ID)
		if left--; left == 0 {
			stop()
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// r1:writer:1:intro
	// r1:writer:1:api
	// <nil>
}
