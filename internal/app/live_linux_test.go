package app_test

import (
	"strings"
	"testing"
	"time"
)

// What a server's agent does stands in a terminal beside it, as it changes.
func TestAStateIsLiveEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	v := newVendor(t, "sleep 7", "rm -rf x")
	w.env = append(w.env, v.env()...)
	w.ramet("fork", "--name", "ada")
	server := w.serve()
	x := w.open(100, 30)
	x.see("[0]")
	x.press(ctrlT)
	x.see("ada", "idle")
	seen := func(want string) time.Duration {
		t.Helper()
		began := time.Now()
		x.until(want, func(screen string) bool {
			for line := range strings.Lines(screen) {
				if strings.Contains(line, "ada") && strings.Contains(line, want) {
					return true
				}
			}
			return false
		})
		return time.Since(began)
	}
	for _, c := range [][2]string{{"streaming", "writes"}, {"permission", "asks"}, {"mail", "waits for mail"}} {
		if code := server.ask("POST", "/api/v1/agents/ada/prompt", `{"text":"phase=`+c[0]+`"}`, new(any)); code != 202 {
			t.Fatalf("the prompt: %d", code)
		}
		seen(c[1])
		if code := server.ask("POST", "/api/v1/agents/ada/interrupt", `{}`, new(any)); code != 200 {
			t.Fatalf("interrupt: %d", code)
		}
		t.Logf("the end of %s was seen after %s", c[0], seen("interrupted").Round(time.Millisecond))
	}
	w.ramet("kill", "ada")
	x.until("ada is gone", func(screen string) bool { return !strings.Contains(screen, "└ ada") })
}
