package database

import (
	"testing"
	"time"
)

// Hurry shortens all waits for servers, from now until the test ends, except for the question
// whether a server is busy.
func Hurry(t testing.TB) {
	unit := func() time.Duration { return 10 * time.Millisecond }
	second.Store(&unit)
	t.Cleanup(func() { second.Store(nil) })
}
