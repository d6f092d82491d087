package riverqueue

import (
	"context"
	"testing"
	"time"
)

// Besides names the schema of the queue.
func Besides(schema string) string { return companionSchema(schema) }

// Names are what River is told for a queue and a host.
func Names(queue, host string) (string, string) { return queueName(queue), clientName(host) }

// Rescue has River look for rows that are older than that, until a test ends.
func Rescue(tb testing.TB, after time.Duration) {
	old := rescue
	tb.Cleanup(func() { rescue = old })
	rescue = after
}

// Compare does what a host that serves does now and then.
func (q *Queue) Compare(context.Context) error {
	q.mu.Lock()
	s := q.serving
	q.mu.Unlock()
	return s.compare()
}

// Hasten shortens what a host waits for before it takes a job for lost, until a test ends.
func Hasten(tb testing.TB, every, after time.Duration) {
	l, s := look, stray
	tb.Cleanup(func() { look, stray = l, s })
	look, stray = every, after
}

// Settle sets how long River's loops may take to begin, until the function is called.
func Settle(d time.Duration) func() {
	was := settle
	settle = d
	return func() { settle = was }
}

// OpenTries limits how often Open tries to reach a server, until a test ends.
func OpenTries(tb testing.TB, tries int) {
	old := openTries
	tb.Cleanup(func() { openTries = old })
	openTries = tries
}
