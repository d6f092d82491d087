package recipe

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"ramet/internal/fault"
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
		Scope: "one", Params: map[string]string{"who": "{{scope}}"}, Failure: "too short",
		Section: &Section{Name: "one", Title: "One", Brief: "B"},
		Issue:   &Issue{ID: "i", Gate: "links", Severity: "error", Code: "C", Message: "M", Files: []string{"a.md", "b.md"}, Line: 7, Fix: "F"},
		Inputs:  []string{"drafts/b", "artifacts/x", "drafts/a"},
		Read:    files(map[string]string{"drafts/a": "A", "drafts/b": "{{B}}\n", "artifacts/one.json": "{}"}),
	}
	for _, c := range []struct{ prompt, want string }{
		{"plain {scope}", "plain {scope}"},
		{`{{scope}} {{param "who"}}`, "one {{scope}}"}, // a value is no template
		{`{{if failure}}last: {{failure}}{{end}}`, "last: too short"},
		{`{{section.Name}} {{section.Title}} {{section.Brief}}`, "one One B"},
		{`{{issue.ID}} {{issue.Gate}} {{issue.Severity}} {{issue.Code}} {{issue.Message}} {{issue.Line}} {{issue.Fix}}{{range issue.Files}} {{.}}{{end}}`, "i links error C M 7 F a.md b.md"},
		{`{{input "artifacts/{scope}.json"}}`, "{}"},
		{`{{input "drafts/**"}}`, "==> drafts/b <==\n{{B}}\n==> drafts/a <==\nA\n"},
		{`{{if and (eq scope "one") (not failure)}}a{{else}}b{{end}}`, "b"},
		{`{{with section.Title}}{{.}}{{end}}`, "One"},
		{`{{$s := scope}}{{$s}}`, "one"},
	} {
		got, err := Render(Worker{Name: "w", Prompt: c.prompt}, data)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.prompt, got, err, c.want)
		}
	}
}

// alike are prompts of every form that there is, right ones and wrong ones.
var alike = []string{
	``, `{{/* nothing */}}`, `a {{- scope -}} b`, `{{"x"}}{{'a'}}{{0x1F}}{{0x1p4}}{{1e3}}{{1.5}}{{-7}}{{+7}}{{1i}}{{0b11}}{{1_000}}{{true}}{{false}}`, `{{18446744073709551615}}`, `{{9223372036854775807}}`, `{{nil}}`,
	`{{and 1 0 2}}{{and "a" "b"}}{{or 0 "" "c"}}{{or "a" nope}}`, `{{or 1 (len 7)}}`, `{{and nil}}`, `{{or nil 0}}`, `{{and}}`, `{{not nil}}{{not 0}}{{not "x"}}{{not issue.Files}}`, `{{not}}`, `{{not 1 2}}`,
	`{{len scope}}{{len issue.Files}}`, `{{len 1}}`, `{{len nil}}`, `{{len section}}`, `{{scope | len}}`, `{{scope | eq "one"}}`, `{{scope | eq "one" "two" | not}}`, `{{failure | and 0}}{{failure | and 1}}`, `{{scope | "x"}}`, `{{scope | scope}}`, `{{"x" "y"}}`, `{{issue.Line 1}}`, `{{(scope) | len}}`,
	`{{eq 1 1}}{{eq 1 2 1}}{{eq 1.0 1.0}}{{eq true true}}{{eq "a" "a"}}{{eq 'a' 97}}{{eq 1i 1i}}`, `{{eq 1 1.0}}`, `{{eq 1 "1"}}`, `{{eq 1}}`, `{{eq}}`, `{{eq nil nil}}`, `{{eq nil 1}}`, `{{eq 1 nil}}`, `{{ne nil 1}}`, `{{eq section section}}`, `{{eq issue issue}}`, `{{eq issue.Files issue.Files}}`, `{{eq issue.Files nil}}`, `{{eq nil section}}`, `{{ne 1 2}}{{ne 1 1}}`, `{{ne 1 2 3}}`, `{{eq issue.Line 7}}`,
	`{{section}}{{issue}}{{issue.Files}}{{issue.Line}}`, `{{(section).Title}}`, `{{(issue.Files)}}`, `{{section.Title.Name}}`, `{{param "who"}}{{param "none"}}`, `{{input "drafts/a"}}`, `{{input "drafts/**"}}`, `{{input "nope"}}`,
	`{{if 0}}a{{else if ""}}b{{else if 0.0}}c{{else}}d{{end}}`, `{{if section}}a{{end}}{{if issue.Files}}b{{end}}{{if nil}}{{end}}`, `{{if not nil}}c{{end}}`, `{{with scope}}{{.}}{{with failure}}{{.}}{{end}}{{.}}{{end}}`, `{{with ""}}a{{else with scope}}{{.}}{{else}}b{{end}}`, `{{with $x := scope}}{{$x}}{{.}}{{end}}`,
	`{{$x := 1}}{{$x = "two"}}{{$x}}{{if true}}{{$x := 3}}{{$x}}{{$x = 4}}{{$x}}{{end}}{{$x}}`, `{{$x := scope}}{{if $x}}{{$x = ""}}{{end}}[{{$x}}]`, `{{$x = 1}}`, `{{$y}}`, `{{$x := 1 | eq 1}}{{$x}}`, `{{if $x := scope}}{{$x}}{{else}}{{$x}}{{end}}`,
	`{{range issue.Files}}[{{.}}]{{end}}`, `{{range $f := issue.Files}}[{{$f}}{{.}}]{{end}}`, `{{range $i, $f := issue.Files}}{{$i}}={{$f}} {{if eq $i 0}}{{continue}}{{end}}x{{end}}`, `{{range issue.Files}}{{.}}{{break}}{{end}}`, `{{range $x, $x := issue.Files}}{{$x}}{{end}}`, `{{$f := 0}}{{range $f = issue.Files}}{{$f}}{{end}}{{$f}}`, `{{$i := 0}}{{$f := 0}}{{range $i, $f = issue.Files}}{{$i}}{{$f}}{{end}}{{$i}}{{$f}}`,
	`{{range $i, $f := issue.Files}}{{with $g := $f}}{{if eq $i 1}}{{break}}{{end}}{{$g}}{{end}}{{end}}`, `{{range issue.Files}}{{$x := .}}{{range issue.Files}}{{$x}}{{.}}{{continue}}{{end}}{{end}}`, `{{range scope}}{{end}}`, `{{break}}`, `{{range issue.Files}}`, `{{end}}`, `{{scope}`, `{{"a`, `{{$}}`, `{{.}}`,
}

func TestPromptsAreWhatTheLibraryMakesOfThem(t *testing.T) {
	full := RenderData{Scope: "one", Params: map[string]string{"who": "you"}, Failure: "too short", Section: &Section{"one", "One", "B"},
		Issue:  &Issue{ID: "i", Files: []string{"a.md", "b.md"}, Line: 7},
		Inputs: []string{"drafts/a"}, Read: files(map[string]string{"drafts/a": "A"})}
	for _, prompt := range alike {
		for what, data := range map[string]RenderData{"full": full, "empty": {Issue: &Issue{}}, "none": {}} {
			if prompt == `{{$}}` || prompt == `{{.}}` || strings.HasPrefix(prompt, `{{range scope`) {
				continue // are never taken: TestBad
			}
			got, err := fill(prompt, data)
			want, wantErr := byLibrary(prompt, data)
			if (err == nil) != (wantErr == nil) || err == nil && got != want {
				t.Errorf("%s, %s: %q, %v; text/template: %q, %v", prompt, what, got, err, want, wantErr)
			}
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
		{`{{eq scope 1}}`, RenderData{}, fault.InvalidRecipe, "incompatible types"},
		{`{{`, RenderData{}, fault.InvalidRecipe, "prompt of worker w"},
		{`{{input "work/big"}}`, RenderData{Read: func(string) ([]byte, error) { return bytes.Repeat([]byte("x"), maxPrompt+1), nil }}, fault.Failed, "more than 16777216 bytes"},
	} {
		_, err := Render(Worker{Name: "w", Prompt: c.prompt}, c.data)
		if !fault.Is(err, c.code) || c.want != "lies" && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s %s", c.prompt, err, c.code, c.want)
		}
	}
	_, err := Render(Worker{Name: "w", Prompt: `{{input "work/x"}}`}, RenderData{Read: files(nil)})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
}

func TestTheEmbeddedPromptsCanBeFilled(t *testing.T) {
	r := embedded(t)
	bound, err := r.Bind(map[string]string{"repo": "."})
	if err != nil {
		t.Fatal(err)
	}
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
				data.Issue = &Issue{ID: "i", Message: "the message", Files: []string{"docs/a.md"}}
			}
			got, err := Render(w, data)
			if err != nil || failure != "" && !strings.Contains(got, failure) || strings.Contains(got, "<no value>") {
				t.Errorf("%s: %v\n%s", w.Name, err, got)
			}
			if w.Each.Issue && !strings.Contains(got, "the message") {
				t.Errorf("%s does not tell its issue:\n%s", w.Name, got)
			}
		}
	}
}
