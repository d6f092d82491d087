package web

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"ramet/internal/testkit"
)

// TestThePageAtFullSize measures the page in Chromium with 1,000 agents, 200 runs and a conversation
// of 10,000 messages, and prints figures: see web/test/bench.mjs. It runs where RAMET_WEB_BENCH=1 asks
// for it (make bench); nothing fails because of time. RAMET_WEB_ONLY names the part that is wanted.
func TestThePageAtFullSize(t *testing.T) {
	if os.Getenv("RAMET_WEB_BENCH") != "1" {
		t.Log("not asked for: RAMET_WEB_BENCH=1 does")
		return
	}
	testkit.InstallNPM(t, sources)
	plan := testkit.Must(json.Marshal(map[string]any{"base": newFake(t, full), "chromium": testkit.Need(t, "chromium"), "only": os.Getenv("RAMET_WEB_ONLY")}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bench := exec.CommandContext(ctx, testkit.FindNode(t), "test/bench.mjs")
	bench.Dir, bench.Env = sources, append(os.Environ(), "RAMET_WEB_PLAN="+string(plan))
	bench.Stdout, bench.Stderr = os.Stdout, os.Stderr
	if err := bench.Run(); err != nil {
		t.Fatalf("%s: %v", bench, err)
	}
}

// fillFull is what the page promises its figures for.
func (f *fake) fillFull() {
	f.fillBig(1000)
	for i := range 5000 {
		f.say(uuid(0), "user", fmt.Sprintf("question %d of many", i))
		f.say(uuid(0), "assistant", fmt.Sprintf("Answer %d.\n\n%s", i, speech))
	}
	for i := range 200 {
		id := fmt.Sprintf("run-%03d", i)
		f.logs[id] = nil
		f.standing[id] = []string{"done", "running", "failed", "stopped"}[i%4]
	}
	for i, a := range f.agents[1:] { // some of them died, some work
		switch i % 10 {
		case 0:
			a["status"], a["end_reason"], a["ended_at"], a["state"] = "dead", "killed", stamp(time.Second), map[string]any{"word": "killed"}
		case 1, 2:
			a["state"] = map[string]any{"word": "working", "detail": "thinks"}
		}
	}
}
