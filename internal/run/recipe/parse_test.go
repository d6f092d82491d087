package recipe

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden file")

func mustParse(t testing.TB, text string) *Recipe {
	t.Helper()
	r := testkit.Must(Parse([]byte(text)))(t)
	return r
}

func embedded(t testing.TB) *Recipe {
	t.Helper()
	text := testkit.Must(LoadEmbedded("docs"))(t)
	return mustParse(t, string(text))
}

// outline is a recipe without its prose, which may change at any time.
func outline(r *Recipe) string {
	var b strings.Builder
	fmt.Fprintf(&b, "recipe %s\n", r.Name)
	for _, p := range r.Parameters {
		fmt.Fprintf(&b, "parameter %s default=%q required=%v\n", p.Name, p.Default, p.Required)
	}
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "section %s\n", s.Name)
	}
	for _, state := range working {
		for i, level := range r.Order(state) {
			for _, w := range level {
				fmt.Fprintf(&b, "%s %d: %s\n", state, i+1, w.Name)
			}
		}
	}
	for _, w := range r.Workers {
		kind := "agent"
		switch {
		case w.Uses != "":
			kind = "uses " + w.Uses
		case w.Command != "":
			kind = "command"
		}
		fmt.Fprintf(&b, "worker %s: %s each=%+v external=%v key=%q timeout=%s tools=%v worktree=%s patches=%v\n",
			w.Name, kind, w.Each, w.External, w.Key, w.Timeout, w.Tools, w.Worktree, w.Patches)
		for _, key := range slices.Sorted(maps.Keys(w.With)) {
			fmt.Fprintf(&b, "  with %s=%s\n", key, w.With[key])
		}
		for _, in := range w.Inputs {
			fmt.Fprintf(&b, "  in  %s\n", in)
		}
		for _, o := range w.Outputs {
			fmt.Fprintf(&b, "  out %s schema=%s patch=%v answer=%v\n", o.Path, o.Schema, o.Patch, o.Answer)
		}
	}
	for _, g := range r.Gates {
		fmt.Fprintf(&b, "gate %s: uses=%s command=%q with=%v timeout=%s\n", g.Name, g.Uses, g.Command, g.With, g.Timeout)
	}
	fmt.Fprintf(&b, "limits %+v\n", r.Limits)
	return b.String()
}

func TestTheEmbeddedRecipeIsWhatItWas(t *testing.T) {
	got := outline(embedded(t))
	const file = "testdata/docs.golden"
	if *update {
		testkit.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := testkit.Must(os.ReadFile(file))(t)
	if got != string(want) {
		t.Errorf("the outline changed; if that is meant: go test ./internal/run/recipe -update\n%s", got)
	}
}

func TestEveryEmbeddedRecipeCanBeLoaded(t *testing.T) {
	for _, name := range EmbeddedNames() {
		text := testkit.Must(LoadEmbedded(name))(t)
		if r := mustParse(t, string(text)); r.Name != name || r.Description == "" {
			t.Errorf("%s calls itself %q, %q", name, r.Name, r.Description)
		}
		text[0] = 'X' // of the caller
		if again, _ := LoadEmbedded(name); again[0] == 'X' {
			t.Error("the caller can change what is built in")
		}
	}
	if _, err := LoadEmbedded("docks"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "did you mean docs?") {
		t.Errorf("%v", err)
	}
}

// examples are the recipes in the repository.
func examples(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	all := map[string]string{"good": good}
	for _, name := range EmbeddedNames() {
		text := testkit.Must(LoadEmbedded(name))(t)
		all[name] = string(text)
	}
	begun := testkit.Must(New("begun"))(t)
	all["new"] = string(begun)
	for _, file := range files {
		text := testkit.Must(os.ReadFile(file))(t)
		all[file] = string(text)
	}
	return all
}

func TestTheExamplesAreGood(t *testing.T) {
	for name, text := range examples(t) {
		t.Run(name, func(t *testing.T) { mustParse(t, text) })
	}
}

// asJSON is YAML as editors hold it against the schema.
func asJSON(t testing.TB, text string) []byte {
	t.Helper()
	var value any
	testkit.OK(t, yaml.Unmarshal([]byte(text), &value))
	doc, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("no JSON: %v", err)
	}
	return doc
}

func TestThePublishedSchemaTakesWhatWeTake(t *testing.T) {
	file := testkit.Must(os.Open("../../../schemas/recipe.schema.json"))(t)
	defer file.Close()
	doc := testkit.Must(jsonschema.UnmarshalJSON(file))(t)
	c := jsonschema.NewCompiler()
	testkit.OK(t, c.AddResource("urn:recipe", doc))
	schema := testkit.Must(c.Compile("urn:recipe"))(t)
	check := func(text string) error {
		value := testkit.Must(jsonschema.UnmarshalJSON(strings.NewReader(string(asJSON(t, text)))))(t)
		return schema.Validate(value)
	}
	for name, text := range examples(t) {
		if err := check(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range [][2]string{{"limits: {", "limmits: {"}, {"name: small\n", ""}, {"uses: apply", "uses: aply"},
		{"DRAFTING: [draft]", "DRAFTNG: [draft]"}, {"parallel: 2", "parallel: two"}, {"each: sections", "each: {form: a}"}} {
		if err := check(change(t, c[0], c[1])); err == nil {
			t.Errorf("the schema takes %s", c[1])
		}
	}
}

func TestWhatIsReadIsWhatIsWritten(t *testing.T) {
	r := mustParse(t, `name: all
parameters: {a: , b: {default: 1.10}, c: {required: true, help: x}}
workers:
  w:
    prompt: "{{scope}}"
    each: [1, b.c, 0x10]
    inputs: ["{c}", "artifacts/{b}/in.md"]
    outputs: ["reports/{scope}.md", {path: "reports/{scope}.json", schema: json, answer: true}]
    tools: [read, bash, fetch, recall, plan, look]
    model: Anthropic/claude
    effort: max
    timeout: 1m30s
    attempts: 5
    queue: big
  x: {command: "true", each: 3..5, outputs: ["drafts/{scope}"], effect: local, with: {a: 1.50, b: true, c: "", d: "{base}{sections}"}}
  y: {command: "true", effect: external, key: "{scope}:{base}", lookup: look}
states: {INGESTED: [x, w], PR_OPENED: [y]}
gates: {g: {command: "true"}}
`)
	w, _ := r.Worker("w")
	if got := fmt.Sprintln(w.Each.List, w.Tools, w.Model, w.Effort, w.Timeout, w.Attempts, w.Queue, w.Line, w.Outputs[1]); got !=
		"[1 b.c 0x10] [read bash fetch recall plan look] Anthropic/claude max 1m30s 5 big 4 {reports/{scope}.json json false true}\n" {
		t.Error(got)
	}
	x, _ := r.Worker("x")
	if got := fmt.Sprint(x.Each.List, x.With, x.External); got != "[3 4 5] map[a:1.50 b:true c: d:{base}{sections}] false" {
		t.Error(got)
	}
	y, _ := r.Worker("y")
	if !y.Each.Once || !y.External || y.Lookup != "look" || len(y.Outputs) != 0 {
		t.Errorf("%+v", y)
	}
	if got := fmt.Sprint(r.Parameters); got != "[{a  false } {b 1.10 false } {c  true x}]" {
		t.Error(got)
	}
	if g := r.Gates[0]; g.Severity != "error" || g.Timeout != defaultGateTimeout {
		t.Errorf("%+v", g)
	}
	if got := fmt.Sprint(r.Limits); got != "{4 2 3 20 0s 0 0 0 0 0}" {
		t.Error(got)
	}
	if _, ok := r.Worker("none"); ok {
		t.Error("found a worker that is not there")
	}
}
