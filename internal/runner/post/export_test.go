package post

import (
	"testing"
	"time"
)

// Hasten shortens what is waited for until a test ends.
func Hasten(tb testing.TB, poll, beat, lease time.Duration) {
	p, b, l := netPoll, deskBeat, deskLease
	tb.Cleanup(func() { netPoll, deskBeat, deskLease = p, b, l })
	netPoll, deskBeat, deskLease = poll, beat, lease
}

// OpenTries limits how often Open tries to reach a server, until a test ends.
func OpenTries(tb testing.TB, tries int) {
	old := openTries
	tb.Cleanup(func() { openTries = old })
	openTries = tries
}
