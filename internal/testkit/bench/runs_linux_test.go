package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ramet/internal/testkit/probe"
)

// Runs of many items by the real binary, on the built-in stores: what the engine costs
// beside the work. A scripted model answers at once, and nobody has tools.

// manyItems is a recipe of n items whose agents say a word, and a clone before them.
const manyItems = `name: many
description: as many items as there are names
parameters: {repo: {required: true}}
states:
  CLONED_INPUTS: [clone]
  PLAN_READY: [names]
  DRAFTING: [write]
workers:
  clone:
    uses: clone
    with: {repo: '{repo}'}
    outputs: [{path: artifacts/inputs.json, schema: inputs}, work/base.bundle]
  names:
    prompt: the names
    inputs: [artifacts/inputs.json]
    outputs: [{path: artifacts/names.json, answer: true}]
  write:
    each: {from: artifacts/names.json}
    prompt: 'write {{scope}}'
    inputs: [artifacts/names.json]
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

// project is where a run of n items is carried out.
type project struct {
	*shell
	n                    int
	recipe, script, repo string
}

func newProject(b *testing.B, sh *shell, n int) *project {
	b.Helper()
	dir := b.TempDir()
	p := &project{n: n, recipe: filepath.Join(dir, "many.yaml"), script: filepath.Join(dir, "many.jsonl"), repo: filepath.Join(dir, "repo"),
		shell: &shell{binary: sh.binary, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}}
	check(b, os.MkdirAll(filepath.Join(p.project, ".git"), 0o700))
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%05d", i)
	}
	list := string(must[[]byte](b)(json.Marshal(names)))
	replies := fmt.Sprintf("{\"when\": \"the names\", \"repeat\": true, \"steps\": [{\"text\": %q}]}\n{\"repeat\": true, \"steps\": [{\"text\": \"a word\"}]}\n", list)
	check(b, os.WriteFile(p.recipe, []byte(manyItems), 0o600))
	check(b, os.WriteFile(p.script, []byte(replies), 0o600))
	for _, args := range [][]string{{"init", "-q", p.repo}, {"-C", p.repo, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "one"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	return p
}

func (p *project) env() []string {
	return []string{"HOME=" + p.home, "RAMET_HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "RAMET_TEST_SCRIPTS=1"}
}

func (p *project) start() []string {
	return []string{"run", "start", "--recipe", p.recipe, "--repo", p.repo, "--run-id", "r", "--model", "script/" + p.script}
}

func (p *project) folder() string { return filepath.Join(p.project, ".ramet", "runs", "r") }

// carry carries the run out to its end and says what that took; items counts all attempts.
func (p *project) carry(b *testing.B, items int, args ...string) used {
	b.Helper()
	return apart[used](b, errands, errand{Path: p.binary, Args: args, Dir: p.project, Env: p.env(),
		Want: fmt.Sprintf("run r is DONE: %d items, %d artifacts in %s\n", items, p.n+3, p.folder())})
}

// event is what is read of an event.
type event struct {
	Type string    `json:"type"`
	TS   time.Time `json:"ts"`
}

func (p *project) events(b *testing.B) []event {
	b.Helper()
	var out []event
	for line := range bytes.Lines(must[[]byte](b)(os.ReadFile(filepath.Join(p.folder(), "events.ndjson")))) {
		var e event
		check(b, json.Unmarshal(line, &e))
		out = append(out, e)
	}
	return out
}

// finished are the places of the events that end items.
func finished(events []event) []int {
	var out []int
	for i, e := range events {
		if e.Type == "WORK_ITEM_FINISHED" {
			out = append(out, i)
		}
	}
	return out
}

// An item costs little, the ten-thousandth no more than the first, in time and memory.
func BenchmarkRunItems(b *testing.B) {
	sh := newShell(b, "-tags", probe.Tag) // its model is a script
	some, many := max(20, scaled(1_000)), max(100, scaled(10_000))
	var item, slower, memory, peak []float64
	for b.Loop() {
		var walls []time.Duration
		var peaks []float64
		for _, n := range []int{1, some, many} {
			p := newProject(b, sh, n)
			got := p.carry(b, n+2, p.start()...)
			walls, peaks = append(walls, got.Wall), append(peaks, float64(got.RSS))
			if n == many {
				events := p.events(b)
				slower = append(slower, lastToFirst(events))
			}
		}
		item = append(item, float64(walls[1]-walls[0])/float64(some-1)/1e6)
		memory = append(memory, peaks[2]/peaks[1])
		peak = append(peak, peaks[2])
	}
	atMost(b, "a run of 1,000 items: wall for one item, of the engine", "ms", middle(item), 5)
	atMost(b, "a run of 10,000 items: time of the last tenth / of the first", "", middle(slower), 1.5)
	atMost(b, "a run of 10,000 items: peak RSS / that of 1,000", "", middle(memory), 1.5)
	shown(b, "a run of 10,000 items: peak RSS", "MB", middle(peak)/1e6)
}

// lastToFirst compares the times in which tenths of the items were finished.
func lastToFirst(events []event) float64 {
	ends := finished(events)[2:] // without the clone and the names
	tenth := len(ends) / 10
	at := func(i int) time.Time { return events[ends[i]].TS }
	return float64(at(len(ends)-1).Sub(at(len(ends)-1-tenth))) / float64(at(tenth).Sub(at(0)))
}
