package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever can write the database has nothing run on a host outside the sandbox, unless the
// host's user said so.
func TestExternalEffectsWaitForAHostThatMay(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	f := newFleet(t, `
name: outside
description: for tests
states:
  DRAFTING: [push, draft]
workers:
  push:
    effect: external
    key: push
    with: {OUTSIDE: `+outside+`}
    command: 'echo "$RAMET_KEY" >> "$OUTSIDE"; echo pushed'
    outputs: [{path: artifacts/pushed.txt, answer: true}]
  draft:
    each: [i03, i04]
    prompt: 'write {{scope}}'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`)
	a := f.worker("a")
	k := f.start()
	eventually(t, "all else is done", func() bool { return a.ended() == 2 })
	show := f.boss.ramet(0, "run", "show", f.run)
	if !strings.Contains(show, "r:push:1:all waits for a host that may act outside of runs: ramet worker --external") {
		t.Errorf("it is shown as\n%s", show)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it acted")
	}
	b := f.worker("b", "--external")
	k.ends(t, 0, "run r is DONE")
	if got, err := os.ReadFile(outside); string(got) != "push\n" {
		t.Errorf("outside is %q, %v", got, err)
	}
	if b.ended() != 1 || a.ended() != 2 {
		t.Errorf("a ended %d, b %d", a.ended(), b.ended())
	}
	if show := f.boss.ramet(0, "run", "show", f.run); strings.Contains(show, "waits for a host") {
		t.Errorf("it is shown as\n%s", show)
	}
}
