package mailbox_test

import (
	"fmt"
	"testing"
)

// BenchmarkClaim is one question to the orchestrator and its answer, over PostgreSQL on
// the same machine. Nothing is promised of it.
func BenchmarkClaim(b *testing.B) {
	address := place(b)
	boss, worker := open(b, address), open(b, address)
	serve(b, boss, 1, newDesk())
	n := 0
	for b.Loop() {
		n++
		if _, err := worker.Claim(b.Context(), fmt.Sprintf("%s:draft:1:%d", runID, n), "h"); err != nil {
			b.Fatal(err)
		}
	}
}
