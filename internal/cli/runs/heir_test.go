package runs

import (
	"strings"
	"testing"

	"ramet/internal/fault"
	"ramet/internal/rundir"
)

// An heir takes a run up as it was begun, or leaves it: an agent that the recipe does not hold may be
// another one here.
func TestAnHeirRefusesAgentsThatTheRecipeDoesNotHold(t *testing.T) {
	const text = "name: r\nworkers:\n  a: {agent: reviewer, prompt: look, outputs: [{path: artifacts/a, answer: true}]}\nstates:\n  INGESTED: [a]\n"
	read := func(text string) error {
		t.Helper()
		config, err := rundir.Config{Recipe: "r", Text: text}.Format()
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = (&heir{}).read("r1", Legacy{Estate: rundir.Estate{Config: config}})
		return err
	}
	if err := read(text); !fault.Is(err, fault.InvalidRecipe) || !strings.Contains(err.Error(), `does not hold agent "reviewer"`) {
		t.Errorf("%v", err)
	}
	if err := read(text + "agents:\n  reviewer: {prompt: You review.}\n"); err != nil {
		t.Errorf("%v", err)
	}
}
