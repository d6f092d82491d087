package runner_test

import (
	"testing"

	"ramet/internal/runner"
	"ramet/internal/testkit/runtest"
)

func TestMemoryQueue(t *testing.T) {
	runtest.RunQueueTests(t, func(t *testing.T) func(string) runtest.Queue {
		runtest.Leakless(t)
		return func(string) runtest.Queue { return runner.NewMemoryQueue() }
	})
}
