package plan_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/docs"
	"ramet/internal/docs/check"
	"ramet/internal/docs/facts"
	"ramet/internal/docs/pages"
	"ramet/internal/docs/plan"
	"ramet/internal/llm"
	"ramet/internal/llm/offline"
	"ramet/internal/run/recipe"
	"ramet/internal/tool"
	"ramet/internal/tool/local"
)

// desk drafts with the built-in model and the real tools, in a folder.
type desk struct {
	t       *testing.T
	dir     string
	recipe  *recipe.Recipe
	plan    docs.Plan
	parts   []docs.Assignment
	reports []string
}

func newDesk(t *testing.T, dir string, f docs.Facts) *desk {
	t.Helper()
	text, err := recipe.Load("docs")
	if err != nil {
		t.Fatal(err)
	}
	r, err := recipe.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir, recipe: r}
	o := plan.Options{DocsDir: "docs", Exists: func(p string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(p)))
		return err == nil
	}}
	for _, s := range r.Sections {
		o.Sections = append(o.Sections, plan.Wanted{Name: s.Name, Title: s.Title, Brief: s.Brief, Claims: s.Claims})
	}
	if d.plan, d.parts, err = plan.Make(f, o); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *desk) worker(name string) recipe.Worker {
	i := slices.IndexFunc(d.recipe.Workers, func(w recipe.Worker) bool { return w.Name == name })
	return d.recipe.Workers[i]
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := docs.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// draft lets the model draft all sections.
func (d *desk) draft() {
	d.t.Helper()
	for _, a := range d.parts {
		prompt, err := recipe.Render(d.worker("draft"), recipe.RenderData{
			Scope: a.Section.Name, Params: map[string]string{"title": ""},
			Section: &recipe.Section{Name: a.Section.Name, Title: a.Section.Title, Brief: a.Section.Brief},
			Failure: "it said\n```json\n{",
			Read:    func(string) ([]byte, error) { return encoded(d.t, a), nil },
		})
		if err != nil {
			d.t.Fatal(err)
		}
		d.reports = append(d.reports, d.ask(prompt))
	}
}

// mend lets the model mend an issue.
func (d *desk) mend(f check.Finding, gate string) string {
	d.t.Helper()
	prompt, err := recipe.Render(d.worker("fix"), recipe.RenderData{
		Scope: "issue", Params: map[string]string{"title": ""},
		Issue: &recipe.Issue{ID: "issue", Gate: gate, Severity: string(f.Severity), Code: f.Code, Message: f.Message, Files: []string{f.File}, Line: f.Line, Fix: f.Fix},
		Read:  func(string) ([]byte, error) { return encoded(d.t, d.plan), nil },
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return d.ask(prompt)
}

// ask gives an order to the model and carries out its calls.
func (d *desk) ask(order string) string {
	d.t.Helper()
	l, err := local.New(local.Options{Root: d.dir})
	if err != nil {
		d.t.Fatal(err)
	}
	r := llm.Request{Model: "offline", Messages: []llm.Message{llm.Say(llm.User, order)}}
	tools := map[string]tool.Tool{}
	for _, t := range l.Tools() {
		if s := t.Spec(); slices.Contains(d.worker("draft").Tools, s.Name) {
			tools[s.Name] = t
			r.Tools = append(r.Tools, llm.Tool{Name: s.Name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	}
	for {
		m, _, _, err := llm.Collect(offline.New().Stream(d.t.Context(), r))
		if err != nil {
			d.t.Fatal(err)
		}
		r.Messages = append(r.Messages, m)
		if len(m.Calls()) == 0 {
			return m.Text()
		}
		var results []llm.Part
		for _, c := range m.Calls() {
			a, err := tools[c.Name].Run(d.t.Context(), tool.Call{ID: c.CallID, Name: c.Name, Args: json.RawMessage(c.Args), Output: func([]byte) {}})
			if err != nil {
				d.t.Fatal(err)
			}
			results = append(results, llm.Result(c, a.Text, a.IsError))
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.ToolRole, Parts: results})
	}
}

// written are the pages of the plan.
func (d *desk) written() map[string][]byte {
	d.t.Helper()
	out := map[string][]byte{}
	for _, s := range d.plan.Sections {
		for _, p := range s.Pages {
			b, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(p.Path)))
			if err != nil {
				d.t.Fatalf("%v (%v)", err, d.reports)
			}
			out[p.Path] = b
		}
	}
	return out
}

// inspect composes the pages as the writer does and holds the gates against them.
func (d *desk) inspect(f docs.Facts, repo fs.FS) (map[string][]check.Finding, map[string][]byte) {
	d.t.Helper()
	c := pages.Compose(d.written(), d.plan)
	for _, p := range c.Problems {
		d.t.Errorf("markers: %+v", p)
	}
	tree := d.t.TempDir()
	s := &check.Site{Repo: repo, Facts: f, Plan: d.plan, Citations: c.Citations, Allowed: []string{"docs/**"}}
	for p, data := range c.Pages {
		put(d.t, filepath.Join(tree, filepath.FromSlash(p)), string(data))
		s.Changes = append(s.Changes, check.Change{Path: p, NewMode: "100644"})
	}
	s.Tree = os.DirFS(tree)
	out := map[string][]check.Finding{}
	for name, gate := range map[string]func(*check.Site) []check.Finding{"markdown": check.Markdown, "links": check.Links, "claims": check.Claims, "paths": check.Paths} {
		out[name] = gate(s)
	}
	return out, c.Pages
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func factsOf(t *testing.T, dir, name string) docs.Facts {
	t.Helper()
	fsys := os.DirFS(dir)
	inv, err := facts.Inventory(fsys, strings.Repeat("a", 40))
	if err != nil {
		t.Fatal(err)
	}
	f, err := facts.Extract(fsys, inv, name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Real modules are documented so that no gate has anything to say. RAMET_DOCS_OF names
// other folders, RAMET_DOCS_TO keeps the pages.
func TestPagesOfRealProjectsPassTheGates(t *testing.T) {
	folders := map[string]string{}
	for _, m := range []string{"github.com/spf13/cobra", "github.com/google/uuid", "github.com/BurntSushi/toml"} {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m).Output()
		if err != nil {
			t.Fatalf("where is %s: %v", m, err)
		}
		folders[filepath.Base(m)] = strings.TrimSpace(string(out))
	}
	if others := os.Getenv("RAMET_DOCS_OF"); others != "" {
		clear(folders)
		for _, dir := range filepath.SplitList(others) {
			folders[filepath.Base(dir)] = dir
		}
	}
	for name, dir := range folders {
		t.Run(name, func(t *testing.T) {
			f := factsOf(t, dir, name)
			d := newDesk(t, realDir(t), f)
			d.draft()
			found, written := d.inspect(f, os.DirFS(dir))
			for gate, all := range found {
				for _, one := range all {
					if one.Code != "MD_PLACEHOLDER" {
						t.Errorf("%s: %+v", gate, one)
					}
				}
			}
			if to := os.Getenv("RAMET_DOCS_TO"); to != "" {
				for p, data := range written {
					put(t, filepath.Join(to, name, filepath.FromSlash(p)), string(data))
				}
				put(t, filepath.Join(to, name, "facts.json"), string(encoded(t, f)))
				put(t, filepath.Join(to, name, "reports.txt"), strings.Join(d.reports, "\n"))
			}
		})
	}
}
