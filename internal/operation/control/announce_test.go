package control

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/kernel"
	"ramet/internal/turn/loop"
	"ramet/internal/turn/permit"
)

func TestOneKernelServes(t *testing.T) {
	b := newBench(t)
	if c, err := b.place.Serving(t.Context()); c != nil || err != nil {
		t.Fatalf("nobody serves: %v %v", c, err)
	}
	first := b.serve(`{"steps": [{"text": "served"}]}`)
	if err := first.server.Announce(); err != nil {
		t.Fatal(err)
	}
	second := b.serve("")
	if err := second.server.Announce(); !fault.Is(err, fault.Locked) || !strings.Contains(err.Error(), "process ") {
		t.Errorf("%v", err)
	}
	c, err := b.place.Serving(t.Context())
	if err != nil || c == nil || c.owner != first.server.Owner {
		t.Fatalf("%+v %v", c, err)
	}
	if out, err := c.Exec(t.Context(), b.zero.ID, prompt("x"), true, ignore); err != nil || out.Text != "served" {
		t.Errorf("%+v %v", out, err)
	}
	for _, path := range []string{b.place.postName(), b.place.postLock()} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	first.Stop()
	first.server.Close()
	if c, err := b.place.Serving(t.Context()); c != nil || err != nil {
		t.Errorf("it has left: %v %v", c, err)
	}
	if err := second.server.Announce(); err != nil {
		t.Error(err)
	}
}

// What a dead server left is removed, and nobody waits for it.
func TestADeadServerIsSweptAway(t *testing.T) {
	b := newBench(t)
	p := b.process("")
	instance, _ := b.place.instance(p.owner)
	if err := os.WriteFile(b.place.postName(), []byte(p.owner), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := b.place.Serving(t.Context()); err != nil || c == nil {
		t.Fatalf("it lives: %v %v", c, err)
	}
	p.kill()
	if c, err := b.place.Serving(t.Context()); c != nil || err != nil {
		t.Errorf("%v %v", c, err)
	}
	for _, path := range []string{b.place.postName(), b.place.sock(instance)} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if err := b.serve("").server.Announce(); err != nil {
		t.Error(err)
	}
}

func TestAnnouncementsOfOthersAreNotFollowed(t *testing.T) {
	b := newBench(t)
	b.serve("") // makes the folder
	for _, name := range []string{"", "nonsense", "elsewhere:1:0123456789ab", b.place.host + ":1:../../../etc", b.place.host + ":1:0123456789ab", strings.Repeat("x", 1<<16)} {
		if err := os.WriteFile(b.place.postName(), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := b.place.Serving(t.Context()); c != nil || err != nil {
			t.Errorf("%.40q: %v %v", name, c, err)
		}
	}
}

func TestAServerOfAnotherVersion(t *testing.T) {
	b := newBench(t)
	s, err := Listen(b.place)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Announce(); err != nil {
		t.Fatal(err)
	}
	old := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, fault.New(fault.Conflict, "the kernel speaks version 0"))
	})}
	go old.Serve(s.listener)
	_, err = b.place.Serving(t.Context())
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "another version of ramet") {
		t.Errorf("%v", err)
	}
	old.Close()
	// One that lives and does not answer.
	if _, err = b.place.Serving(t.Context()); !fault.Is(err, fault.Leased) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("%v", err)
	}
	s.Close()
}

// A turn that was handed over goes on without whoever gave it, and is interrupted by
// name; one that was only asked for ends with the asker.
func TestATurnThatStays(t *testing.T) {
	b := newBench(t)
	k := b.serve(`
{"when": "stay", "steps": [{"text": "a "}, {"wait": "on"}, {"text": "b"}]}
{"when": "stop", "steps": [{"text": "c "}, {"wait": "never"}]}
`)
	c := b.dial(k.server.Owner)
	ctx, leave := context.WithCancel(t.Context())
	ended := until(t, &k.Events, func(e loop.Event) bool { return e.Type == loop.TurnEnded && e.Outcome.Text == "a b" && e.Err == nil })
	_, err := c.Hand(ctx, b.zero.ID, prompt("stay"), func(e loop.Event) {
		if e.Type == loop.TextDelta {
			leave()
		}
	})
	if err == nil {
		t.Error("it has left")
	}
	b.gates.Open("on")
	ended()
	stopped := make(chan error, 1)
	working := until(t, &k.Events, func(e loop.Event) bool { return e.Type == loop.TextDelta })
	go func() {
		_, err := c.Hand(t.Context(), b.zero.ID, prompt("stop"), ignore)
		stopped <- err
	}()
	working()
	if ended, err := c.Interrupt(t.Context(), kernel.Stop{Agent: b.zero.ID}); err != nil || !ended {
		t.Error(ended, err)
	}
	if err := <-stopped; !fault.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
	if err := c.Answer(t.Context(), "x", permit.Verdict{Choice: permit.Once}); !fault.Is(err, fault.NotFound) {
		t.Errorf("nothing is asked here: %v", err)
	}
}

// A kernel that stays is found by who has a letter; the one that serves comes first, and what
// a dead one left counts for nothing.
func TestAKernelStays(t *testing.T) {
	b := newBench(t)
	if c := b.place.Staying(t.Context()); c != nil {
		t.Fatal("nobody stays")
	}
	passing, staying := b.serve(""), b.serve("")
	if err := staying.server.Stay(); err != nil {
		t.Fatal(err)
	}
	if c := b.place.Staying(t.Context()); c == nil || !strings.HasSuffix(c.owner, staying.server.instance) {
		t.Fatalf("%+v", c)
	}
	if err := passing.server.Announce(); err != nil {
		t.Fatal(err)
	}
	if c := b.place.Staying(t.Context()); c == nil || c.owner != passing.server.Owner {
		t.Errorf("%+v", c)
	}
	for _, k := range []*served{passing, staying} {
		k.Stop()
		k.server.Close()
	}
	if _, err := os.Stat(b.place.stays(staying.server.instance)); err == nil {
		t.Error("it is not taken back")
	}
	dead := b.process("")
	instance, _ := b.place.instance(dead.owner)
	if err := os.WriteFile(b.place.stays(instance), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead.kill()
	if c := b.place.Staying(t.Context()); c != nil {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(b.place.stays(instance)); err == nil {
		t.Error("what a dead one left is there")
	}
}
