package app

import (
	"context"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run/rundir"
)

// An heir continues a run as it was begun, or leaves it: an agent that the recipe does not define may be another one
// here, and what acts outside of runs is left to a host that may.
func TestAnHeirRefusesWhatItMayNotContinue(t *testing.T) {
	const text = "name: r\nworkers:\n  a: {agent: reviewer, prompt: look, outputs: [{path: artifacts/a, answer: true}]}\nstates:\n  INGESTED: [a]\n"
	read := func(text string) error {
		t.Helper()
		config, err := rundir.Config{Recipe: "r", Text: text}.Format()
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = (&takeover{}).read("r1", handover{Config: string(config)})
		return err
	}
	if err := read(text); !fault.Is(err, fault.InvalidRecipe) || !strings.Contains(err.Error(), `does not hold agent "reviewer"`) {
		t.Errorf("%v", err)
	}
	if err := read(text + "agents:\n  reviewer: {prompt: You review.}\n"); err != nil {
		t.Errorf("%v", err)
	}
	const outside = "name: r\nworkers:\n  a: {effect: external, key: k, command: 'true', outputs: [{path: artifacts/a, answer: true}]}\nstates:\n  INGESTED: [a]\n"
	if err := read(outside); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "it acts outside of runs") {
		t.Errorf("a host that may not act outside of runs: %v", err)
	}
}

// What an earlier version began with built-ins that are others now, an heir leaves as well: the writer of
// the docs recipe took plan and facts once. It says what does not fit, before it has made anything.
func TestAnHeirRefusesWhatAnEarlierVersionBegan(t *testing.T) {
	const old = `name: docs
parameters: {repo: {required: true}}
states:
  CLONED_INPUTS: [clone]
  FACTS_READY: [facts]
  LINKING: [write]
workers:
  clone:
    uses: clone
    with: {repo: '{repo}'}
    outputs: [{path: artifacts/inputs.json, schema: inputs}, work/base.bundle]
  facts:
    uses: facts
    inputs: [artifacts/inputs.json]
    outputs: [artifacts/facts.json]
  write:
    uses: apply
    inputs: [artifacts/inputs.json, work/base.bundle, artifacts/plan.json, artifacts/facts.json, "drafts/**"]
    outputs: [artifacts/citations.json]
`
	config, err := rundir.Config{Recipe: "docs", Text: old, Set: map[string]string{"repo": "/srv/project"}}.Format()
	if err != nil {
		t.Fatal(err)
	}
	var offered []string
	h := &takeover{release: func(_ context.Context, runID string) { offered = append(offered, runID) }}
	err = h.carry(t.Context(), "r1", handover{Config: string(config)})
	if !fault.Is(err, fault.InvalidRecipe) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"run r1 was begun by another version of ramet", "facts", "apply"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: there is no %q", err, want)
		}
	}
	if len(offered) != 1 || offered[0] != "r1" {
		t.Errorf("offered to others: %q", offered)
	}
}
