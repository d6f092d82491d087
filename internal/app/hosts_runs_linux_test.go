package app_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
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
	repo := f.repository()
	a, b, c := f.worker("a"), f.worker("b"), f.worker("c")
	k := f.start("--repo", repo)
	for _, w := range []*worker{a, b, c} {
		eventually(t, w.name+" has an item", w.waits)
	}
	for _, w := range []*worker{a, b, c} {
		w.open(12)
	}
	f.done(k)
	for _, w := range []*worker{a, b, c} {
		eventually(t, w.name+" ended items", func() bool { return w.ended() > 0 })
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
