package recipe

import (
	"reflect"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

const reviewed = `name: r # kept
workers:
  a: {agent: "Code Reviewer", prompt: "x", tools: [read, bash, write], outputs: [{path: artifacts/a, answer: true}]}
  b: {agent: plain, prompt: "x", outputs: [{path: artifacts/b, answer: true}], model: a/own}
  c: {agent: none, prompt: "x", tools: [read], outputs: [{path: artifacts/c, answer: true}]}
states:
  INGESTED: [a, b, c]
`

func TestAgentsArePutIntoARecipe(t *testing.T) {
	r := testkit.Must(Parse([]byte(reviewed)))(t)
	if got := r.Undefined(); !reflect.DeepEqual(got, []string{"Code Reviewer", "none", "plain"}) {
		t.Fatal(got)
	}
	agents := []Definition{
		{Name: "Code Reviewer", From: ".claude/agents/r.md", Prompt: "Review:\n\n- \"all\": of it\n\t# and this\n", Tools: []string{"read", "bash(git *)"}, Model: "v/m", Effort: "low", Tokens: 500, CostUSD: 0.01},
		{Name: "none", Prompt: "Do nothing.", Tools: []string{}},
		{Name: "plain", Prompt: "yes", Model: "v/m"},
	}
	text, err := AddAgents([]byte(reviewed), agents)
	testkit.OK(t, err)
	if r, err = Parse(text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, d := range agents {
		if got := r.Agents[d.Name]; !reflect.DeepEqual(got, d) {
			t.Errorf("%+v, not %+v", got, d)
		}
	}
	want := map[string]Worker{"a": {Tools: []string{"read", "bash"}, Model: "v/m", Effort: "low"}, "b": {Model: "a/own"}, "c": {Tools: []string{}}}
	for _, w := range r.Workers {
		if x := want[w.Name]; !reflect.DeepEqual([]any{w.Tools, w.Model, w.Effort}, []any{x.Tools, x.Model, x.Effort}) {
			t.Errorf("%s: %q %s %s", w.Name, w.Tools, w.Model, w.Effort)
		}
	}
	if len(r.Undefined()) > 0 || !strings.Contains(string(text), "# kept") {
		t.Errorf("%v\n%s", r.Undefined(), text)
	}
	// Those that a recipe holds stay.
	again := testkit.Must(AddAgents(text, []Definition{{Name: "more", Prompt: "x"}}))(t)
	if r, err = Parse(again); err != nil || len(r.Agents) != 4 {
		t.Errorf("%v %v", r, err)
	}
}

func TestWrongAgentsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"agents: {a: {tools: [read]}}":            "has no prompt",
		"agents: {a: {prompt: x, tool: [read]}}":  "tool",
		"agents: {a: {prompt: x, model: sonnet}}": "write vendor/name",
		"agents: [a]":                                     "agents",
		"agents: {a: {prompt: x, tokens: 0}}":             "tokens",
		"agents: {a: {prompt: x, effort: extraordinary}}": "effort",
	} {
		_, err := Parse([]byte(reviewed + text + "\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
