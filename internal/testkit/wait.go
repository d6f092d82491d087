package testkit

import (
	"testing"
	"time"
)

// limit bounds how long a condition may take to become true. It is no measure of speed:
// only a test that hangs reaches it.
const limit = 5 * time.Minute

// WaitUntil returns when is reports true. If that never happens, the test fails and what says
// what did not become true.
func WaitUntil(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for began := time.Now(); !is(); began = time.Now() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
		time.Sleep(min(max(time.Millisecond, 4*time.Since(began)), 250*time.Millisecond)) // a look may cost a process
	}
}

// Receive returns the next value from c. If none arrives, the test fails and what says
// what was missing.
func Receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case v := <-c:
		return v
	case <-late.C:
		t.Fatalf("not within %s: %s", limit, what)
		panic("unreachable")
	}
}
