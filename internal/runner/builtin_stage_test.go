package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/files/git"
	"ramet/internal/run/recipe"
	"ramet/internal/testkit"
)

const token = "open-sesame-4711"

// changing is a recipe that changes a repository.
const changing = `
name: changing
parameters: {repo: {required: true}, into: {default: ""}, branch: {default: ramet/docs}, base_branch: {default: ""}}
states: {CLONED_INPUTS: [clone], DRAFTING: [draft], LINKING: [apply], PR_OPENED: [pull-request]}
workers:
  clone:
    uses: clone
    with: {repo: "{repo}", into: "{into}", branch: "{branch}"}
    outputs: [{path: artifacts/inputs.json, schema: inputs}, work/base.bundle, work/source.bundle]
  draft:
    prompt: Change it.
    inputs: [work/base.bundle]
    worktree: work/base.bundle
    outputs: [{path: drafts/page/changes.patch, patch: true}]
  apply:
    uses: apply
    inputs: [artifacts/inputs.json, work/base.bundle, drafts/**]
    outputs: [artifacts/docs.patch]
  pull-request:
    uses: pull-request
    with: {branch: "{branch}", base_branch: "{base_branch}", title: "Pages of greet", body: "All of them."}
    inputs: [artifacts/inputs.json, artifacts/docs.patch, work/base.bundle]
    outputs: [{path: artifacts/pr.json, schema: pr}, artifacts/pr/**]
    effect: external
    key: "pull-request:{branch}:{base}"
`

// builtinStage is a forge with one repository o/r, and a folder of a run with that recipe.
type builtinStage struct {
	t      *testing.T
	forge  *testkit.ForgeServer
	source string // where the user works
	bare   string // what the forge has
	recipe *recipe.Recipe
	w      *BuiltinWorkers
	last   map[string]Result // by worker
	base   string
}

func newStageBuiltin(t *testing.T) *builtinStage {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(home) // away from the configuration of the repository that holds this test
	testkit.OK(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ada Love\n\temail = ada@example.org\n"), 0o600))
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	root := t.TempDir()
	s := &builtinStage{t: t, source: filepath.Join(t.TempDir(), "greet"), bare: filepath.Join(root, "o", "r.git"), forge: testkit.NewForge(t, root, token)}
	s.file(s.source, "go.mod", "module example.org/greet\n\ngo 1.22\n")
	s.file(s.source, "README.md", "# greet\n\nGreets people by name.\n\n## Install\n\n    go get example.org/greet\n")
	s.file(s.source, "LICENSE", "MIT License\n\nCopyright (c) 2024 Ada\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\n")
	s.file(s.source, "greet.go", "// Package greet greets.\npackage greet\n\n// Hello greets somebody.\nfunc Hello(name string) string { return \"hello \" + name }\n")
	s.file(s.source, "docs/old.md", "# Old\n\nIt stays.\n")
	s.file(s.source, ".gitattributes", "*.md text eol=crlf\n")
	s.git(s.source, "init", "-q", "-b", "main")
	s.git(s.source, "-c", "core.attributesFile=/dev/null", "add", "-A")
	s.git(s.source, "commit", "-q", "-m", "first")
	s.git(s.source, "clone", "-q", "--bare", s.source, s.bare)
	s.recipe = testkit.Must(recipe.Parse([]byte(changing)))(t)
	s.begin(s.forge.URL+"/o/r.git", "gitea")
	return s
}

// begin begins a run in a folder of its own.
func (s *builtinStage) begin(repo, kind string) {
	env := map[string]string{}
	if kind != "" {
		env = s.forge.Env(kind)
	}
	params := testkit.Must(s.recipe.Bind(map[string]string{"repo": "x"}))(s.t)
	params["repo"] = repo // an empty one too
	s.w = &BuiltinWorkers{Site: Site{Dir: s.t.TempDir(), Params: params},
		Env: func(name string) string { return env[name] }}
	s.last, s.base = map[string]Result{}, ""
}

func (s *builtinStage) git(dir string, args ...string) string {
	s.t.Helper()
	return testkit.Git(s.t, dir, args...)
}

func (s *builtinStage) file(dir, name, text string) {
	s.t.Helper()
	testkit.WriteFile(s.t, filepath.Join(dir, name), text)
}

// content reads a file of the run.
func (s *builtinStage) content(name string) string {
	s.t.Helper()
	data := testkit.Must(os.ReadFile(filepath.Join(s.w.Site.Dir, name)))(s.t)
	return string(data)
}

// orchestrator gives inputs by their hash, as the orchestrator does.
type builtinDesk struct {
	Orchestrator
	dir string
	it  Attempt
}

func (d builtinDesk) Fetch(_ context.Context, _, sum string) ([]byte, error) {
	for _, in := range d.it.Inputs {
		if in.SHA256 == sum {
			return os.ReadFile(filepath.Join(d.dir, in.Path))
		}
	}
	return nil, fault.New(fault.NotFound, "no input %s", sum)
}

// item is an item of a worker of the recipe, as the orchestrator makes it.
func (s *builtinStage) item(name string) Attempt {
	s.t.Helper()
	i := slices.IndexFunc(s.recipe.Workers, func(w recipe.Worker) bool { return w.Name == name })
	w := s.recipe.Workers[i]
	values := s.recipe.Values(s.w.Site.Params, s.base)
	expand := func(text string) string {
		out := testkit.Must(recipe.ExpandText(text, "all", values))(s.t)
		return out
	}
	it := Attempt{ID: "run:" + name + ":1:all", RunID: "run", Worker: name, Scope: "all", Number: 1,
		Task: Task{Uses: w.Uses, With: map[string]string{}, External: w.External, Timeout: w.Timeout}}
	for k, v := range w.With {
		it.Task.With[k] = expand(v)
	}
	if w.Key != "" {
		it.Task.Key = expand(w.Key)
	}
	for _, o := range w.Outputs {
		it.Task.Outputs = append(it.Task.Outputs, Output{Path: expand(o.Path), Schema: o.Schema})
	}
	for _, in := range w.Inputs {
		folder, all := strings.CutSuffix(expand(in), "/**")
		paths := []string{folder}
		if all {
			paths = s.below(folder)
		}
		for _, p := range paths {
			sum := sha256.Sum256([]byte(s.content(p)))
			it.Inputs = append(it.Inputs, Input{Path: p, SHA256: hex.EncodeToString(sum[:])})
		}
	}
	return it
}

func (s *builtinStage) below(folder string) []string {
	s.t.Helper()
	var out []string
	testkit.OK(s.t, filepath.WalkDir(filepath.Join(s.w.Site.Dir, folder), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(s.w.Site.Dir, p)
			out = append(out, filepath.ToSlash(rel))
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}))
	return out
}

// try does an item and, if it succeeds, keeps what it made.
func (s *builtinStage) try(name string) (Result, error) {
	s.t.Helper()
	it := s.item(name)
	r, err := s.w.Do(s.t.Context(), it, builtinDesk{dir: s.w.Site.Dir, it: it})
	if err != nil {
		return r, err
	}
	for _, f := range r.Files {
		fits := slices.IndexFunc(it.Task.Outputs, func(o Output) bool { return recipe.CoversPath(o.Path, f.Path) })
		if fits < 0 {
			s.t.Errorf("%s made %s, which it did not promise", name, f.Path)
		} else if form, ok := recipe.FindForm(it.Task.Outputs[fits].Schema); ok {
			if err := form.Check(f.Data); err != nil {
				s.t.Errorf("%s: %v\n%s", f.Path, err, f.Data)
			}
		}
		s.file(s.w.Site.Dir, f.Path, string(f.Data))
	}
	s.last[name] = r
	return r, nil
}

func (s *builtinStage) do(names ...string) Result {
	s.t.Helper()
	var r Result
	for _, name := range names {
		var err error
		if r, err = s.try(name); err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
		if name == "clone" {
			var in builtinInputs
			testkit.OK(s.t, decodeStrict([]byte(s.content(inputsFile)), &in))
			s.base = in.Base
		}
	}
	return r
}

// draft writes pages as an agent would, and keeps the patch.
func (s *builtinStage) draft(to string, pages map[string]string) {
	s.t.Helper()
	tree := git.Tree{Dir: filepath.Join(s.t.TempDir(), "tree"), Git: filepath.Join(s.t.TempDir(), "git")}
	testkit.OK(s.t, git.FromBundle(s.t.Context(), filepath.Join(s.w.Site.Dir, bundleFile), s.base, tree))
	for name, text := range pages {
		s.file(tree.Dir, name, text)
	}
	patch := testkit.Must(git.Diff(s.t.Context(), tree))(s.t)
	s.file(s.w.Site.Dir, to, string(patch))
}

// page is what the drafts write.
const page = "docs/page.md"

func (s *builtinStage) drafts() {
	s.t.Helper()
	s.draft("drafts/page/changes.patch", map[string]string{page: "# Page\n\nAbout it.\n"})
}

// artifacts are all files of a run that must not depend on where and when it was.
func (s *builtinStage) artifacts() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, name := range append(s.below("artifacts"), s.below("drafts")...) {
		out[name] = s.content(name)
	}
	return out
}

func (s *builtinStage) same(a, b map[string]string, but ...string) {
	s.t.Helper()
	for name := range maps.Keys(a) {
		if a[name] != b[name] && !slices.Contains(but, name) {
			s.t.Errorf("%s differs:\n%.400q\n%.400q", name, a[name], b[name])
		}
	}
	if len(a) != len(b) {
		s.t.Errorf("%d files, then %d", len(a), len(b))
	}
}

func (s *builtinStage) refuse(err error, code fault.Code, parts ...string) {
	s.t.Helper()
	if !fault.Is(err, code) {
		s.t.Errorf("got %v, want %s", err, code)
		return
	}
	for _, p := range append(parts, "") {
		if !strings.Contains(err.Error(), p) {
			s.t.Errorf("%q does not say %q", err, p)
		}
	}
	if strings.Contains(err.Error(), token) {
		s.t.Errorf("the token: %v", err)
	}
}
