package recipe

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"ramet/internal/base/fault"
	"ramet/internal/run"
	"ramet/internal/testkit"
)

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
