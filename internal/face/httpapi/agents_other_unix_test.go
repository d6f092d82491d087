//go:build unix

package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/operation"
	"ramet/internal/operation/public"
	"ramet/internal/testkit"

	"ramet/internal/turn/loop"
)

// An agent that another process holds is worked with there, and watched here.
func TestTwoProcesses(t *testing.T) {
	f := newFloor(t, `{"when": "more", "steps": [{"text": "more of it"}]}
{"when": "go on", "steps": [{"text": "here"}]}`)
	s := opened(t, f)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	owner, run, kill := f.process(t, fmt.Sprintf(`
{"when": "begin", "steps": [{"text": "I begin"}, {"wait": %q}, {"text": "and end"}]}
{"when": "last", "steps": [{"text": "I work"}, {"wait": %q}]}
`, gate, gate))
	kid := f.child(t, f.zero.ID, "kid")
	w := s.watch(t, "?agent=kid", "")
	run(kid, "begin")
	w.until(func(l EventLine) bool { return l.Message != nil && l.Message.Kind == "user" }) // by the feed
	var now AgentNow
	s.good(t, "GET", "/api/v1/agents/kid", nil, 200, &now)
	if now.Doing == nil || now.State.Word != "working" || now.State.Detail == nil || now.Lease == nil || now.Lease.Owner != owner {
		t.Errorf("%+v", now)
	}
	// It is forked beside its holder.
	var born AgentNow
	s.good(t, "POST", "/api/v1/agents/kid/fork", map[string]string{"name": "grandkid"}, 201, &born)
	if *born.ParentUUID != kid {
		t.Errorf("%+v", born)
	}
	// A prompt waits for the turn there.
	s.good(t, "POST", "/api/v1/agents/kid/prompt", PromptInput{Text: "more"}, 202, nil)
	pipe, err := os.OpenFile(gate, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	fmt.Fprint(pipe, "x")
	w.until(func(l EventLine) bool {
		return l.Message != nil && strings.Contains(string(l.Message.Parts), "more of it")
	})
	// Nobody holds it now: it goes on here.
	w.until(isType(loop.TurnEnded, kid))
	s.good(t, "POST", "/api/v1/agents/kid/prompt", PromptInput{Text: "go on"}, 202, nil)
	w.until(func(l EventLine) bool { return l.Message != nil && strings.Contains(string(l.Message.Parts), `"here"`) })
	w.until(isType(loop.TurnEnded, kid))
	// Killed here while it works there.
	run(kid, "last")
	w.until(func(l EventLine) bool { return l.Message != nil && strings.Contains(string(l.Message.Parts), "last") })
	var done public.Killed
	s.good(t, "POST", "/api/v1/agents/kid/kill", killBody{Cascade: new(true), Confirm: new(2)}, 200, &done)
	if done.Count != 2 {
		t.Errorf("%+v", done)
	}
	kill()
}

// A turn elsewhere is stopped from here; a kernel that died holds nobody.
func TestInterruptElsewhere(t *testing.T) {
	f := newFloor(t, `{"repeat": true, "steps": [{"text": "here"}]}`)
	s := opened(t, f)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	_, run, kill := f.process(t, fmt.Sprintf(`{"repeat": true, "steps": [{"text": "stop me"}, {"wait": %q}]}`, gate))
	w := s.watch(t, "", "")
	works := func() bool {
		var now AgentNow
		s.good(t, "GET", "/api/v1/agents/0", nil, 200, &now)
		return now.State.Word == "working" && *now.State.Detail == "writes"
	}
	run(f.zero.ID, "one")
	testkit.WaitUntil(t, "it works", works)
	var stopped operation.Interrupted
	s.good(t, "POST", "/api/v1/agents/0/interrupt", struct{}{}, 200, &stopped)
	if !stopped.Interrupted {
		t.Error("it is not stopped")
	}
	run(f.zero.ID, "two")
	testkit.WaitUntil(t, "it works again", works)
	kill()
	var list public.AgentList
	s.good(t, "GET", "/api/v1/agents", nil, 200, &list)
	if a := list.Agents[0]; a.Activity == nil || *a.Activity != "interrupted" || a.Doing != nil {
		t.Errorf("%+v", a)
	}
	s.good(t, "POST", "/api/v1/agents/0/interrupt", struct{}{}, 200, &stopped)
	if stopped.Interrupted {
		t.Error("there is nothing to stop")
	}
	s.good(t, "POST", "/api/v1/agents/0/prompt", PromptInput{Text: "three"}, 202, nil)
	if e, _ := w.until(isType(loop.TurnEnded, f.zero.ID)); e.Error != nil {
		t.Errorf("%+v", e)
	}
}
