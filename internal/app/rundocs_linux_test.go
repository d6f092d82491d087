package app_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// The docs recipe through the real binary: what it makes, and of what it refuses.

var greet = map[string]string{
	"go.mod":    "module example.org/greet\n\ngo 1.22\n",
	"greet.go":  "// Package greet greets people.\npackage greet\n\n// Hello greets somebody by name.\nfunc Hello(name string) string { return \"Hello, \" + name }\n",
	"README.md": "# greet\n\nGreets people.\n",
}

// repository makes a git repository of files; no files: without a commit.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	testkit.Git(t, "", "init", "-q", "-b", "main", dir)
	if len(files) > 0 {
		commit(t, dir, files)
	}
	return dir
}

// commit writes files and commits everything.
func commit(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		testkit.WriteFile(t, filepath.Join(dir, name), text)
	}
	testkit.Git(t, dir, "add", ".")
	testkit.Git(t, dir, "commit", "-q", "-m", "change")
}

func TestTheDocsRecipeMakesTheSameTwice(t *testing.T) {
	t.Parallel()
	var made []map[string]string
	for _, name := range []string{"first-of-two", "second-of-two"} {
		e := newErrand(t)
		e.must(0, "run", "start", "--repo", repository(t, greet), "--run-id", name)
		e.needNeutral(name)
		all := e.made(name)
		delete(all, "artifacts/pr/branch.bundle") // its commit names the run
		made = append(made, all)
	}
	if len(made[0]) < 15 || !maps.Equal(made[0], made[1]) {
		t.Errorf("%d files: %s", len(made[0]), differ(made[1], made[0]))
	}
}

// A second run brings what is new, and leaves what others wrote.
func TestDocsAreUpdated(t *testing.T) {
	t.Parallel()
	e, repo := newErrand(t), repository(t, greet)
	merge := func(run string) {
		testkit.Git(t, repo, "fetch", "-q", filepath.Join(e.run(run), "artifacts/pr/branch.bundle"), "ramet/docs")
		testkit.Git(t, repo, "merge", "-q", "--no-edit", "FETCH_HEAD")
	}
	page := func(name string) string {
		data := testkit.Must(os.ReadFile(filepath.Join(repo, "docs", name)))(t)
		return string(data)
	}
	e.must(0, "run", "start", "--repo", repo, "--run-id", "d1")
	merge("d1")
	before := page("reference.md")
	const theirs = "# Words of ours\n\nNobody else knows this.\n\n"
	commit(t, repo, map[string]string{
		"greet.go":          greet["greet.go"] + "\n// Bye takes leave of somebody.\nfunc Bye(name string) string { return \"Bye, \" + name }\n",
		"docs/reference.md": before + "\nMore words of ours.\n", "docs/own.md": theirs,
	})
	e.must(0, "run", "start", "--repo", repo, "--run-id", "d2")
	merge("d2")
	after := page("reference.md")
	if strings.Contains(before, "Bye") || !strings.Contains(after, "Bye takes leave of somebody.") || !strings.HasSuffix(after, "\nMore words of ours.\n") || page("own.md") != theirs {
		t.Errorf("%s", after)
	}
	if strings.Count(after, "Hello greets somebody by name.") != 1 {
		t.Errorf("%s", after)
	}

	// With nothing new there is nothing to open.
	r := e.must(0, "run", "start", "--repo", repo, "--run-id", "d3")
	if patch := e.made("d3")["artifacts/docs.patch"]; patch != "" || !strings.Contains(r.stdout, "nothing to change: no pull request was opened") {
		t.Errorf("%s%s", r.stdout, patch)
	}
}

func TestDocsIntoAnotherRepository(t *testing.T) {
	t.Parallel()
	e, repo := newErrand(t), repository(t, greet)
	into := repository(t, map[string]string{"README.md": "# All our documentation\n"})
	e.must(0, "run", "start", "--repo", repo, "--into", into, "--set", "docs_dir=greet", "--run-id", "d1")
	testkit.Git(t, into, "fetch", "-q", filepath.Join(e.run("d1"), "artifacts/pr/branch.bundle"), "ramet/docs")
	if files := testkit.Git(t, into, "ls-tree", "-r", "--name-only", "FETCH_HEAD"); files != "README.md\ngreet/index.md\ngreet/reference.md" {
		t.Error(files)
	}
	for _, dir := range []string{repo, into} {
		if branches := testkit.Git(t, dir, "branch", "--format", "%(refname)"); branches != "refs/heads/main" {
			t.Errorf("%s has %s", dir, branches)
		}
		if changed := testkit.Git(t, dir, "status", "--porcelain"); changed != "" {
			t.Errorf("%s: %s", dir, changed)
		}
	}
	e.needNeutral("d1")
}

func TestRepositoriesOfAllKinds(t *testing.T) {
	t.Parallel()
	e := newErrand(t)
	if r := e.must(3, "run", "start", "--run-id", "nowhere", "--repo", filepath.Join(e.dir, "nowhere")); !strings.HasPrefix(r.stderr, "error[NOT_FOUND]: --repo") || r.stdout != "" {
		t.Errorf("%s", r.stderr)
	}
	if _, err := os.Stat(e.run("nowhere")); err == nil {
		t.Error("a run was made")
	}
	whole := repository(t, greet)
	testkit.Git(t, whole, "submodule", "--quiet", "add", repository(t, map[string]string{"inner.go": "package inner\n\n// Inside is not for us.\nfunc Inside() {}\n"}), "inner")
	commit(t, whole, map[string]string{"x.txt": "x"})
	e.must(0, "run", "start", "--repo", whole, "--run-id", "submodules")
	e.warned("submodules", "SUBMODULES")
	if strings.Contains(e.made("submodules")["artifacts/docs.patch"], "Inside") {
		t.Error("the submodule is described")
	}

	detached := repository(t, greet)
	testkit.Git(t, detached, "checkout", "-q", "--detach")
	e.must(0, "run", "start", "--repo", detached, "--run-id", "detached")
}

// warned demands an open issue of a kind that stopped nothing.
func (e *errand) warned(run, code string) {
	e.t.Helper()
	shown := e.must(0, "run", "show", run, "--json").stdout
	if !strings.Contains(shown, `"error_code": "`+code+`"`) || !strings.Contains(shown, `"severity": "warn"`) {
		e.t.Errorf("%s: nobody was warned of %s: %.400s", run, code, shown)
	}
}
