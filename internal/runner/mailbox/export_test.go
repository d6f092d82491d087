package mailbox

import (
	"testing"
	"time"
)

// Hasten shortens what is waited for until a test ends.
func Hasten(tb testing.TB, poll, beat, lease time.Duration) {
	p, b, l := netPoll, leaseBeat, leaseTime
	tb.Cleanup(func() { netPoll, leaseBeat, leaseTime = p, b, l })
	netPoll, leaseBeat, leaseTime = poll, beat, lease
}

// OpenTries limits how often Open tries to reach a server, until a test ends.
func OpenTries(tb testing.TB, tries int) {
	old := maxConnectAttempts
	tb.Cleanup(func() { maxConnectAttempts = old })
	maxConnectAttempts = tries
}
