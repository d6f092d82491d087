package app_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// dozen has twelve agents, and a command that changes a worktree which it was sent.
const dozen = `
name: dozen
description: for tests
parameters:
  repo: {required: true}
states:
  CLONED_INPUTS: [clone]
  DRAFTING: [draft, build]
  LINKING: [join]
workers:
  clone:
    uses: clone
    with: {repo: "{repo}"}
    outputs:
      - {path: artifacts/inputs.json, schema: inputs}
      - work/base.bundle
  build:
    command: cat README.md && echo built >> README.md && mkdir sub && echo new > sub/new.txt
    inputs: [work/base.bundle]
    worktree: work/base.bundle
    outputs:
      - {path: drafts/build.patch, patch: true}
      - {path: artifacts/build.txt, answer: true}
  draft:
    each: [i01, i02, i03, i04, i05, i06, i07, i08, i09, i10, i11, i12]
    prompt: 'write {{scope}} patiently'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
  join:
    prompt: 'join {{input "drafts/**"}}'
    inputs: [drafts/**]
    outputs: [{path: artifacts/all.txt, answer: true}]
`

func TestThreeHostsDoARunThatOneDoesAlike(t *testing.T) {
	t.Parallel()
	f := newFleet(t, dozen)
	repo := repository(t, map[string]string{"README.md": "# Repository\n"})
	a, b, c := f.worker("a"), f.worker("b"), f.worker("c")
	k := f.start("--repo", repo)
	for _, w := range []*worker{a, b, c} {
		testkit.WaitUntil(t, w.name+" has an item", w.waits)
	}
	for _, w := range []*worker{a, b, c} {
		w.open(12)
	}
	f.done(k)
	for _, w := range []*worker{a, b, c} {
		testkit.WaitUntil(t, w.name+" ended items", func() bool { return w.ended() > 0 })
		w.leaves()
		w.quiet()
	}

	// The same in one process, in a file.
	f.boss.open(12)
	alone := f.boss.onFile()
	alone.begin("run", "start", "--recipe", "recipe.yaml", "--repo", repo, "--run-id", "alone", "--model", "script/model.jsonl").ends(t, 0, "run alone is DONE")
	folder := filepath.Join(f.boss.dir, ".ramet", "runs")
	got, want := made(t, filepath.Join(folder, f.run)), made(t, filepath.Join(folder, "alone"))
	if !maps.Equal(got, want) || len(got) != 16 || !strings.Contains(got["drafts/build.patch"], "+built") || got["artifacts/build.txt"] != "# Repository\n" {
		t.Errorf("made\n%q\nin one process\n%q", got, want)
	}
}

// external is a command that acts on a file outside, and an agent beside it.
func external(outside, began, block string) string {
	return `
name: external
description: for tests
states:
  DRAFTING: [push, draft]
workers:
  push:
    each: [i01, i02]
    effect: external
    key: 'push-{scope}'
    with: {OUTSIDE: ` + outside + `, BEGAN: ` + began + `, BLOCK: ` + block + `}
    lookup: 'grep -qx "$RAMET_KEY" "$OUTSIDE" && echo "$RAMET_KEY is there"'
    command: 'echo "$RAMET_KEY" >> "$OUTSIDE"; printf . > "$BEGAN"; cat "$BLOCK"; echo "$RAMET_KEY is there"'
    outputs: [{path: 'artifacts/{scope}.txt', answer: true}]
  draft:
    each: [i03, i04, i05, i06]
    prompt: 'write {{scope}} patiently'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`
}

func TestWhatAKilledHostDidIsDoneByAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	var team team
	team.t = t
	began, told := team.fifo()
	block, _ := team.fifo()
	team.write(dir, "outside", "")
	f := newFleet(t, external(outside, began, block))
	a, b := f.worker("a", "--external", "--parallel", "3"), f.worker("b", "--external", "--parallel", "3") // room for all: queues have no order between them
	k := f.start()
	f.told(told) // both effects have happened, and nobody knows
	f.told(told)
	f.killWorkers(a, b)
	c := f.worker("c", "--external")
	testkit.WaitUntil(t, "an agent is at work", c.waits)
	f.killWorkers(c)
	d := f.worker("d", "--external")
	d.open(4)
	all := f.done(k)
	for _, w := range []*worker{a, b, c} {
		w.still()
	}
	if left := tools(block); len(left) > 0 {
		t.Errorf("alive: %q", left)
	}
	text, err := os.ReadFile(outside)
	if lines := strings.Fields(string(text)); err != nil || len(lines) != 2 || lines[0] == lines[1] {
		t.Errorf("outside: %q %v", text, err)
	}
	for _, id := range []string{"r:push:1:i01", "r:push:1:i02"} {
		if count(all, "WORK_ITEM_FINISHED", id) != 0 || count(all, "WORK_ITEM_FAILED", id) != 1 || count(all, "WORK_ITEM_FINISHED", strings.Replace(id, ":1:", ":2:", 1)) != 1 {
			t.Errorf("item %s", id)
		}
	}
	if got := f.file("artifacts/i01.txt"); got != "push-i01 is there\n" {
		t.Errorf("%q", got)
	}
	if n := count(all, "WORK_ITEM_QUEUED", ""); n < 6+3 { // two pushes, and one draft at least, were done again
		t.Errorf("%d attempts", n)
	}
}

// signed has items whose result says who did them.
const signed = `
name: signed
description: for tests
states:
  DRAFTING: [draft]
workers:
  draft:
    each: [i01, i02, i03, i04]
    prompt: 'for {{scope}}: sign patiently'
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

func TestACancelledRunEndsOnEveryHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var team team
	team.t = t
	began, told := team.fifo()
	block, _ := team.fifo()
	team.write(dir, "outside", "")
	f := newFleet(t, external(filepath.Join(dir, "outside"), began, block))
	room := []string{"--external", "--parallel", "2"} // for all: queues have no order between them
	a, b, c := f.worker("a", room...), f.worker("b", room...), f.worker("c", room...)
	k := f.start()
	f.told(told)
	f.told(told)
	at, _ := anyOf(t, a, b, c)
	f.boss.ramet(0, "run", "cancel", f.run, "--reason", "enough")
	k.ends(t, 130, "error[CANCELLED]")
	testkit.WaitUntil(t, "no command runs", func() bool { return len(tools(block)) == 0 })
	testkit.WaitUntil(t, "no agent works", func() bool { return !at.waits() })
	f.boss.ramet(0, "run", "verify", f.run)
	if show := f.boss.ramet(0, "run", "show", f.run, "--json"); !strings.Contains(show, `"CANCELLED"`) {
		t.Errorf("it is %s", show)
	}
	for _, w := range []*worker{a, b, c} {
		w.leaves()
		w.quiet()
	}
}
