package recipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
	"ramet/internal/run"
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

// FuzzParse: whatever a file holds, it is refused with lines, or can be ordered and has the
// published form.
func FuzzParse(f *testing.F) {
	for _, text := range examples(f) {
		f.Add(text)
	}
	f.Add(bomb())
	f.Add("name: a\nworkers: {w: {prompt: '{{range issue.Files}}{{.}}{{end}}', each: issue, outputs: ['drafts/{scope}']}}\nstates: {FIXING: [w]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse([]byte(text))
		if err != nil {
			var all Mistakes
			if !fault.Is(err, fault.InvalidRecipe) || !errors.As(err, &all) || len(all) == 0 {
				t.Fatalf("%v", err)
			}
			lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 2
			for _, m := range all {
				if m.Line < 1 || m.Line > lines || m.What == "" || !utf8.ValidString(m.What) || strings.ContainsAny(m.What, "\x1b\x00") {
					t.Fatalf("%+v", m)
				}
			}
			return
		}
		placed := map[string]bool{}
		for _, state := range run.States() {
			n := 0
			for _, level := range r.Order(state) {
				for _, w := range level {
					placed[w.Name] = true
					n++
				}
			}
			if n != len(r.States[state]) {
				t.Fatalf("%s: %d of %d workers are ordered", state, n, len(r.States[state]))
			}
		}
		if len(placed) != len(r.Workers) {
			t.Fatalf("%d of %d workers stand somewhere", len(placed), len(r.Workers))
		}
		var value any
		testkit.OK(t, yaml.Unmarshal([]byte(text), &value))
		if doc, err := json.Marshal(value); err == nil { // .inf is no JSON
			if err := Shape().Check(doc); err != nil {
				t.Fatalf("Parse takes it, the shape does not: %v", err)
			}
		}
	})
}

// FuzzRender: a prompt that Parse takes is filled or refused, and ends.
func FuzzRender(f *testing.F) {
	f.Add(`{{section.Title}} {{param "who"}} {{input "work/base.bundle"}}`, "one", "world")
	f.Add(`{{range issue.Files}}{{.}}{{else}}{{if scope}}{{failure}}{{end}}{{end}}`, "..", "{{scope}}")
	f.Fuzz(func(t *testing.T, prompt, scope, who string) {
		quoted, err := json.Marshal(prompt)
		if err != nil || !utf8.ValidString(prompt) {
			return
		}
		old := `"Write {{section.Title}} for {{param \"who\"}}."`
		r, err := Parse([]byte(strings.Replace(good, old, string(quoted), 1)))
		if err != nil {
			return
		}
		w, _ := r.Worker("draft")
		if w.Prompt != prompt {
			t.Fatalf("read %q, not %q", w.Prompt, prompt)
		}
		data := RenderData{Scope: scope, Params: map[string]string{"who": who}, Failure: who, Section: &Section{Name: scope},
			Read: func(path string) ([]byte, error) {
				if path != "work/base.bundle" {
					t.Fatalf("reads %q", path)
				}
				return []byte(who), nil
			}}
		_, err = RenderPrompt(w, data)
		if _, ok := fault.Of(err); err != nil && !ok {
			t.Fatalf("%v", err)
		}
	})
}

func files(m map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := m[path]; ok {
			return []byte(text), nil
		}
		return nil, fault.New(fault.NotFound, "no file %s: %w", path, fs.ErrNotExist)
	}
}

func TestRender(t *testing.T) {
	data := RenderData{
		Scope: "one", Params: map[string]string{"who": "{{scope}}", "none": ""}, Failure: "too short",
		Section: &Section{Name: "one", Title: "One", Brief: "B"},
		Issue:   &run.Issue{IssueID: "i", Gate: "links", Severity: "error", ErrorCode: new("C"), Message: "M", Files: []string{"a.md", "b.md"}, Location: []byte(`{"line":7}`), SuggestedFix: new("F")},
		Inputs:  []string{"drafts/b", "artifacts/x", "drafts/a"},
		Read:    files(map[string]string{"drafts/a": "A", "drafts/b": "{{B}}\n", "artifacts/one.json": "{}"}),
	}
	for _, c := range []struct{ prompt, want string }{
		{"plain {scope}", "plain {scope}"},
		{`{{scope}} {{param "who"}}`, "one {{scope}}"}, // a value is not a template
		{`{{if failure}}last: {{failure}}{{end}}`, "last: too short"},
		{`{{section.Name}} {{section.Title}} {{section.Brief}}`, "one One B"},
		{`{{issue.ID}} {{issue.Gate}} {{issue.Severity}} {{issue.Code}} {{issue.Message}} {{issue.Line}} {{issue.Fix}}{{range issue.Files}} {{.}}{{end}}`, "i links error C M 7 F a.md b.md"},
		{`{{input "artifacts/{scope}.json"}}`, "{}"},
		{`{{input "drafts/**"}}`, "==> drafts/b <==\n{{B}}\n==> drafts/a <==\nA\n"},
		{`{{if failure}}a{{else}}b{{end}}{{if param "none"}}{{else}}{{if issue.Files}}c{{end}}{{end}}`, "ac"},
		{"{{ scope\n}}", "one"},
	} {
		got, err := RenderPrompt(Worker{Name: "w", Prompt: c.prompt}, data)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.prompt, got, err, c.want)
		}
	}
}

func TestAPromptThatCannotBeFilledIsAFault(t *testing.T) {
	for _, c := range []struct {
		prompt string
		data   RenderData
		code   fault.Code
		want   string
	}{
		{`{{input "artifacts/none"}}`, RenderData{Read: files(nil)}, fault.NotFound, "no file artifacts/none"},
		{`{{input "artifacts/none"}}`, RenderData{}, fault.NotFound, "no input artifacts/none"},
		{`{{input "drafts/**"}}`, RenderData{Read: files(nil), Inputs: []string{"work/x"}}, fault.NotFound, "no input below drafts/**"},
		{`{{input "../x"}}`, RenderData{Read: files(nil)}, fault.Usage, "lies"},
		{`{{param "x"}}`, RenderData{}, fault.Usage, `parameter "x" has no value`},
		{`{{section.Title}}`, RenderData{}, fault.InvalidRecipe, "there is no section here"},
		{`{{issue.Fix}}`, RenderData{}, fault.InvalidRecipe, "there is no issue here"},
		{`{{eq scope 1}}`, RenderData{}, fault.InvalidRecipe, "not a placeholder"},
		{`{{with scope}}{{end}}`, RenderData{}, fault.InvalidRecipe, "not a placeholder"},
		{`{{if scope}}`, RenderData{}, fault.InvalidRecipe, "has no {{end}}"},
		{`{{end}}`, RenderData{}, fault.InvalidRecipe, "ends no block"},
		{`{{if scope}}{{else}}{{else}}{{end}}`, RenderData{}, fault.InvalidRecipe, "two {{else}}"},
		{`{{`, RenderData{}, fault.InvalidRecipe, "prompt of worker w"},
		{`{{input "work/big"}}`, RenderData{Read: func(string) ([]byte, error) { return bytes.Repeat([]byte("x"), maxPrompt+1), nil }}, fault.Failed, "more than 16777216 bytes"},
	} {
		_, err := RenderPrompt(Worker{Name: "w", Prompt: c.prompt}, c.data)
		if !fault.Is(err, c.code) || c.want != "lies" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s %s", c.prompt, err, c.code, c.want)
		}
	}
	_, err := RenderPrompt(Worker{Name: "w", Prompt: `{{input "work/x"}}`}, RenderData{Read: files(nil)})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestTheEmbeddedPromptsCanBeFilled(t *testing.T) {
	r := embedded(t)
	bound := testkit.Must(r.Bind(map[string]string{"repo": "."}))(t)
	for _, w := range r.Workers {
		if w.Prompt == "" {
			continue
		}
		for _, failure := range []string{"", "it was too short"} {
			data := RenderData{Scope: "overview", Params: bound, Failure: failure, Inputs: []string{"drafts/overview/changes.patch"},
				Read: func(path string) ([]byte, error) { return []byte("content of " + path), nil }}
			if w.Each.Sections {
				data.Section = &r.Sections[0]
			}
			if w.Each.Issue {
				data.Issue = &run.Issue{IssueID: "i", Message: "the message", Files: []string{"docs/a.md"}}
			}
			got, err := RenderPrompt(w, data)
			if err != nil || failure != "" && !strings.Contains(got, failure) || strings.Contains(got, "<no value>") {
				t.Errorf("%s: %v\n%s", w.Name, err, got)
			}
			if w.Each.Issue && !strings.Contains(got, "the message") {
				t.Errorf("%s does not tell its issue:\n%s", w.Name, got)
			}
		}
	}
}

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
