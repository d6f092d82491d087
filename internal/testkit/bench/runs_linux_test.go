package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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
