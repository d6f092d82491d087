package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/id"
	"ramet/internal/store"
)

// Home moves at once, however many agents there are.
func BenchmarkHome(b *testing.B) {
	sh := newShell(b)
	many := max(100, scaled(1000))
	sh.workspace(b, func(db *store.Store, zero id.Agent) {
		fork(b, db, zero, many, func(i int) string { return fmt.Sprintf("worker-%04d", i) })
	})
	t := sh.terminal(b, "RAMET_START=home")
	t.see(fmt.Sprintf("%d agents", many+1))
	t.press("\x1b[F") // End: what is folded of them
	t.see("▌ …")
	t.press("\r")
	t.see("Space: write to worker-0004)")
	bare := newEcho(b)
	var took times
	hand := time.NewTicker(37 * time.Millisecond) // no multiple of any frame
	defer hand.Stop()
	at := 4
	for b.Loop() {
		for range max(10, scaled(400)) {
			key, step := "\x1b[B", 1
			if at >= many-2 {
				key, step, at = "\x1b[H", 0, 0
			}
			<-hand.C
			took.of(func() {
				t.press(key)
				at += step
				want := fmt.Sprintf("Space: write to worker-%04d)", at)
				if step == 0 {
					want = "Space: write to 0)"
				}
				t.until(want, func() bool { return strings.Contains(t.row(rows-2), want) })
			})
			if step == 0 {
				t.press("\x1b[B")
				t.see("Space: write to worker-0000)")
			}
			<-hand.C
			bare.key()
		}
	}
	t.end()
	atMost(b, fmt.Sprintf("Home with %d agents: key to screen, p99", many), "ms", took.at(0.99)/1e6, 16)
	shown(b, fmt.Sprintf("Home with %d agents: key to screen, p50", many), "ms", took.at(0.5)/1e6)
	bare.show("Home")
}
