package recipe

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
)

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
