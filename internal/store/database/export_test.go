package database

import (
	"testing"
	"time"
)

// Hurry shortens all waits for servers, from now until the test ends, except for the question
// whether a server is busy.
func Hurry(t testing.TB) {
	SetSecond(func() time.Duration { return 10 * time.Millisecond })
	t.Cleanup(func() { SetSecond(nil) })
}
