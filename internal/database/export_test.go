package database

import (
	"testing"
	"time"
)

// Hurry shortens all waits for servers, from now until the test ends, except for the question
// whether a server is busy.
func Hurry(t testing.TB) {
	second.Store(int64(10 * time.Millisecond))
	t.Cleanup(func() { second.Store(0) })
}
