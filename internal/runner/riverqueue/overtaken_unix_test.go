//go:build unix

package riverqueue_test

import (
	"context"
	"syscall"
	"testing"

	"ramet/internal/runner"
	. "ramet/internal/testkit/runtest"
)

// A host that was stopped for so long that others took over ends what it was doing, and
// goes on with other jobs.
func TestAHostThatWasOvertakenStops(t *testing.T) {
	address := place(t)
	q := open(t, address, "heir")
	slow := newHost(t, address, "slow")
	EnqueueJob(t, q, "r:a", "r:b")
	slow.says("r:a", "r:b")
	slow.signal(syscall.SIGSTOP)
	s := ServeQueue(t, q, 2, func(ctx context.Context, j runner.Enqueued) error { <-ctx.Done(); return nil })
	takeover(t, q, "slow", "r:a", "r:b")
	s.Expect("r:a", "r:b")
	slow.signal(syscall.SIGCONT)
	slow.says("end r:a", "end r:b")
	EnqueueJob(t, q, "r:c", "r:d")
	slow.says("r:c", "r:d")
	if a, b := s.Count("r:a"), s.Count("r:b"); a != 1 || b != 1 {
		t.Errorf("handed out %d and %d times", a, b)
	}
}
