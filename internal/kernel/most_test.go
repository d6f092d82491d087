package kernel

import (
	"strings"
	"testing"

	"ramet/internal/core/agent"
)

// Below one prompt of a person only so many agents work at a time: the model is told, and
// may fork again when some have ended. A grandchild counts as a child does.
func TestModelsForkSoManyAndNoMore(t *testing.T) {
	b := newBench(t, `
{"when": "three", "steps": [{"call": "fork", "args": {"prompt": "one"}, "id": "f1"}, {"call": "fork", "args": {"prompt": "two"}, "id": "f2"}, {"call": "fork", "args": {"prompt": "more"}, "id": "f3"}]}
{"when": "over 2", "repeat": true, "steps": [{"text": "I do it myself"}]}
{"when": "deep", "steps": [{"call": "fork", "args": {"prompt": "go down", "name": "child"}, "id": "f4"}]}
{"when": "go down", "steps": [{"call": "fork", "args": {"prompt": "wide"}, "id": "f5"}, {"call": "fork", "args": {"prompt": "wider"}, "id": "f6"}]}
{"when": "works on", "steps": [{"text": "it is under way"}]}
{"when": "Your turn is not over", "repeat": true, "steps": [{"text": "it is under way"}]}
`)
	b.Options.MostAgents = 2
	b.start()
	outcome, err := b.exec(b.zero.ID, "three")
	if err != nil || outcome.Text != "I do it myself" {
		t.Fatalf("%+v %v", outcome, err)
	}
	all, err := b.store.Agents(t.Context(), agent.Filter{})
	if err != nil || len(all) != 1 {
		t.Errorf("%d agents, %v", len(all), err)
	}
	if outcome, err = b.exec(b.zero.ID, "deep"); err != nil || outcome.Text != "it is under way" {
		t.Fatalf("%+v %v", outcome, err)
	}
	if got := b.letters(b.zero.ID); len(got) != 1 || got[0] != "I do it myself" { // the child had room for one more
		t.Errorf("letters %q", got)
	}
	told := false
	for _, line := range b.history(b.named("child").ID) {
		told = told || strings.Contains(line, "1 agents work or wait already that came from this prompt; with 2 more it would be over 2")
	}
	if !told {
		t.Errorf("the child was not told why:\n%s", strings.Join(b.history(b.named("child").ID), "\n"))
	}
}
