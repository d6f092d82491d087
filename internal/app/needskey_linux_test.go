package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A letter wakes an agent whose key came from the environment of a client, after the kernel was killed. The agent waits
// until a client has the key, every face says so, and no other model answers in its place.
func TestAWokenAgentWaitsForItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	without := w.env
	v := newVendor(t, "true", "true")
	with := append(slices.Clip(without), v.env()...)

	w.env = with
	x := w.open(110, 24)
	x.see("[0]", "anthropic/")
	x.say("hello")
	x.see("very well", " idle ")
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(w.server().PID), "environ"))
	if err != nil || strings.Contains(string(environ), "sk-test-stop") {
		t.Errorf("the kernel has the key in its environment: %v", err)
	}
	x.leave()
	w.killServer()

	w.env = without
	page := w.serve()
	x = w.open(110, 24)
	x.see("[0]")
	w.ramet("send", "0", "are you there")
	const want = "needs a key: ANTHROPIC_API_KEY"
	x.see(want, "Press Enter to resume with your key")
	if ps := w.ramet("ps"); !strings.Contains(ps, want) {
		t.Errorf("ps says\n%s", ps)
	}
	var shown struct {
		State struct{ Word, Detail string }
	}
	if code := page.ask("GET", "/api/v1/agents/0", "", &shown); code != 200 || shown.State.Word+": "+shown.State.Detail != want {
		t.Errorf("the page gets %d %+v", code, shown)
	}
	var home struct {
		Rows []struct{ Group, Does, Said string }
	}
	if code := page.ask("GET", "/api/v1/home", "", &home); code != 200 || home.Rows[0].Group != "needs you" || home.Rows[0].Said != want {
		t.Errorf("Home is %d %+v", code, home)
	}
	x.press(enter) // this client has no key either
	x.see("there is no key for anthropic", want)
	x.leaveSure()

	w.env = with
	y := w.open(110, 24)
	y.see("[0]", want)
	y.press(enter)
	y.see("Mail from the user", "very well", " idle ")
	y.leave()
	if got := strings.Count(w.ramet("log", "0"), "very well"); got != 2 {
		t.Errorf("it answered %d times, not twice:\n%s", got, w.ramet("log", "0"))
	}
	w.ramet("verify")
}
