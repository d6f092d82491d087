package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func (s *builtinStage) pr() pr {
	s.t.Helper()
	var p pr
	testkit.OK(s.t, decodeStrict([]byte(s.content("artifacts/pr.json")), &p))
	return p
}

func TestFromARepositoryToAPullRequest(t *testing.T) {
	for _, kind := range []string{"gitea", "github"} {
		t.Run(kind, func(t *testing.T) {
			s := newStageBuiltin(t)
			s.begin(s.forge.URL+"/o/r.git", kind)
			head := s.git(s.bare, "rev-parse", "main")
			r := s.do("clone")
			if len(r.Clones) != 1 || r.Clones[0] != (Clone{Name: "repo", URL: s.forge.URL + "/o/r.git", Commit: head}) || len(r.Issues) > 0 {
				t.Errorf("%+v", r)
			}
			s.drafts()
			r = s.do("apply")
			if len(r.Issues) > 0 {
				t.Errorf("%+v", r.Issues)
			}
			r = s.do("pull-request")
			p := s.pr()
			if p.BaseCommit != head || p.Branch != "ramet/docs" || p.URL == "" || p.URL != r.PR || p.Bundle != "" || len(p.Rollback) == 0 || p.Title != "Pages of greet" {
				t.Errorf("%+v %+v", p, r.PR)
			}
			if changed := strings.Split(s.git(s.bare, "diff", "--name-only", "main", "ramet/docs"), "\n"); !slices.Equal(changed, p.AffectedPaths) {
				t.Errorf("%q and %q", changed, p.AffectedPaths)
			}
			if log := s.git(s.bare, "log", "--format=%an <%ae> %ad %P%n%B", "--date=unix", "-1", "ramet/docs"); !strings.HasPrefix(log, "Ada Love <ada@example.org> 1704164646 "+head) || !strings.Contains(log, "\nRamet-Run: run\n") || !strings.Contains(log, "Ramet-Key: pull-request:ramet/docs:"+s.base) {
				t.Error(log)
			}
			if pulls := s.forge.Pulls(); len(pulls) != 1 || pulls[0].Base != "main" || pulls[0].Body != "All of them." {
				t.Errorf("%+v", pulls)
			}
			// Once more, and once more in another run: the same one.
			before := s.artifacts()
			s.do("pull-request")
			s.same(before, s.artifacts())
			s.begin(s.forge.URL+"/o/r.git", kind)
			s.do("clone")
			s.drafts()
			s.do("apply", "pull-request")
			s.same(before, s.artifacts())
			if s.forge.Posts() != 1 {
				t.Errorf("%d were asked for", s.forge.Posts())
			}
			for _, dir := range []string{s.w.Site.Dir, s.bare} {
				s.without(dir, token)
			}
		})
	}
}

// without says that no file below a folder holds a text.
func (s *builtinStage) without(dir, text string) {
	s.t.Helper()
	testkit.OK(s.t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if data, _ := os.ReadFile(p); strings.Contains(string(data), text) {
				s.t.Errorf("%s holds %s", p, text)
			}
		}
		return err
	}))
}

func TestWithoutAForgeThereAreFiles(t *testing.T) {
	s := newStageBuiltin(t)
	var before map[string]string
	for range 2 { // the same bytes, wherever the run's folder is
		s.begin(s.source, "")
		s.do("clone")
		s.drafts()
		r := s.do("apply", "pull-request")
		if p := s.pr(); p.URL != "" || p.Bundle != "artifacts/pr/branch.bundle" || r.PR != p.Bundle {
			t.Errorf("%+v", p)
		}
		if before == nil {
			before = s.artifacts()
		}
		s.same(before, s.artifacts())
		for name, text := range s.artifacts() {
			if strings.Contains(text, s.w.Site.Dir) || strings.Contains(text, s.source) || strings.Contains(text, "run:") {
				t.Errorf("%s holds a place or an id", name)
			}
		}
	}
	s.git(s.source, "fetch", "-q", filepath.Join(s.w.Site.Dir, "artifacts/pr/branch.bundle"), "ramet/docs:ramet/docs")
	s.do("pull-request") // the branch is there, and it is ours
	s.same(before, s.artifacts())
	if len(s.forge.Heard()) > 0 {
		t.Errorf("%q", s.forge.Heard())
	}
	testkit.Must(os.Stat(filepath.Join(s.w.Site.Dir, "artifacts/pr/README")))(t)
}

func TestWhatIsMissingIsMadeAgain(t *testing.T) {
	s := newStageBuiltin(t)
	s.do("clone")
	s.drafts()
	s.do("apply")
	before := s.artifacts()
	// The source goes on, and the run stays where it is.
	s.git(s.source, "commit", "-q", "--allow-empty", "-m", "second")
	s.git(s.source, "push", "-q", s.bare, "main")
	for _, name := range []string{"apply", "clone"} {
		for _, spoil := range []func(){
			func() { os.RemoveAll(filepath.Join(s.w.Site.Dir, "work")) },
			func() {
				s.file(s.w.Site.Dir, "work/repo/greet.go", "package other\n")
				s.file(s.w.Site.Dir, "work/repo/more.go", "package other\n")
				s.file(s.w.Site.Dir, "work/tree/docs/old.md", "spoilt\n")
				s.file(s.w.Site.Dir, "work/tree/docs/stray.md", "stray\n")
			},
		} {
			if name != "clone" {
				s.do("apply")
			}
			spoil()
			if _, err := os.Stat(filepath.Join(s.w.Site.Dir, bundleFile)); err != nil && name == "apply" {
				s.do("clone") // the orchestrator has it as an artifact of clone
			}
			s.do(name)
			s.same(before, s.artifacts())
		}
	}
}

// A patch that was written by hand, and not made in a sandbox that looks after names, plants nothing.
func TestNoPatchPlantsAFileThatActs(t *testing.T) {
	s := newStageBuiltin(t)
	s.do("clone")
	s.drafts()
	for _, name := range []string{".envrc", "docs/.vscode/tasks.json", ".claude/settings.json"} {
		s.file(s.w.Site.Dir, "drafts/zz-evil/changes.patch",
			"diff --git a/"+name+" b/"+name+"\nnew file mode 100644\n--- /dev/null\n+++ b/"+name+"\n@@ -0,0 +1 @@\n+touch ran\n")
		r := s.do("apply")
		if len(r.Issues) != 1 || r.Issues[0].Code != "PATCH_ACTS" || !slices.Equal(r.Issues[0].Files, []string{name}) {
			t.Errorf("%s: %+v", name, r.Issues)
		}
		if _, err := os.Lstat(filepath.Join(s.w.Site.Dir, "work/tree", name)); err == nil {
			t.Errorf("%s is in the tree", name)
		}
	}
}

func TestConflictsAreIssuesUntilTheyAreMended(t *testing.T) {
	s := newStageBuiltin(t)
	s.do("clone")
	s.drafts()
	s.draft("drafts/zz-other/changes.patch", map[string]string{page: "# Mine\n\nSomething else.\n", "docs/extra.md": "# Extra\n\nFine.\n"})
	s.file(s.w.Site.Dir, "drafts/zzz-broken/changes.patch", "no patch at all\n")
	r := s.do("apply")
	codes := func(r Result) (out []string) {
		for _, i := range r.Issues {
			out = append(out, i.Code)
		}
		return out
	}
	if got := codes(r); !slices.Equal(got, []string{"PATCH_CONFLICT", "PATCH_INVALID"}) || !slices.Equal(r.Issues[0].Files, []string{page}) || r.Issues[0].Severity != Error {
		t.Fatalf("%+v", r.Issues)
	}
	if !strings.Contains(s.content("work/tree/docs/extra.md"), "Fine.") || strings.Contains(s.content("work/tree/"+page), "<<<<") || strings.Contains(s.content("work/tree/"+page), "Something else") {
		t.Error("the rest was not applied, or too much")
	}
	again := s.do("apply")
	a, _ := json.Marshal(r.Issues)
	b, _ := json.Marshal(again.Issues)
	if string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
	// The fix of the issue, and not that of another one, ends it.
	s.draft("drafts/fixes/aaa.patch", map[string]string{"docs/fixed.md": "# Fixed\n"})
	if got := codes(s.do("apply")); len(got) != 2 {
		t.Errorf("%q", got)
	}
	s.draft("drafts/fixes/"+IssueID(r.Issues[0])+".patch", map[string]string{"docs/mended.md": "# Mended\n"})
	if got := codes(s.do("apply")); !slices.Equal(got, []string{"PATCH_INVALID"}) {
		t.Errorf("%q", got)
	}
}

func TestABranchOfSomebodyElseIsNotTouched(t *testing.T) {
	s := newStageBuiltin(t)
	s.do("clone")
	s.drafts()
	s.do("apply")
	s.git(s.source, "checkout", "-q", "-b", "ramet/docs")
	s.file(s.source, "theirs", "theirs\n")
	s.git(s.source, "add", "theirs")
	s.git(s.source, "commit", "-q", "-m", "theirs")
	s.git(s.source, "push", "-q", s.bare, "ramet/docs")
	theirs := s.git(s.bare, "rev-parse", "ramet/docs")
	_, err := s.try("pull-request")
	s.refuse(err, fault.Conflict, "branch=NAME")
	if now := s.git(s.bare, "rev-parse", "ramet/docs"); now != theirs || len(s.forge.Pulls()) > 0 {
		t.Error("it was touched")
	}
	// Another run says so before it begins; without a forge too, and where the branch is
	// the one that is checked out.
	for _, repo := range []string{s.forge.URL + "/o/r.git", s.source, s.source} {
		s.begin(repo, "gitea")
		_, err = s.try("clone")
		s.refuse(err, fault.Conflict, "branch=NAME")
		s.git(s.source, "checkout", "-q", map[bool]string{true: "ramet/docs", false: "main"}[repo != s.source])
	}
}

func TestAnAttemptThatBroughtSomethingElseIsReplaced(t *testing.T) {
	s := newStageBuiltin(t)
	s.do("clone")
	s.drafts()
	s.do("apply", "pull-request")
	first := s.git(s.bare, "rev-parse", "ramet/docs")
	s.draft("drafts/page/changes.patch", map[string]string{page: "# Another\n"})
	s.do("apply", "pull-request")
	if now := s.git(s.bare, "rev-parse", "ramet/docs"); now == first || len(s.forge.Pulls()) != 1 {
		t.Errorf("%s, %+v", now, s.forge.Pulls())
	}
	// What a reviewer put on top is not replaced.
	s.git(s.source, "fetch", "-q", s.bare, "ramet/docs")
	s.git(s.source, "checkout", "-q", "FETCH_HEAD")
	s.git(s.source, "commit", "-q", "--allow-empty", "-m", "better words")
	s.file(s.source, "docs/old.md", "better\n")
	s.git(s.source, "commit", "-q", "-a", "-m", "better words")
	s.git(s.source, "push", "-q", s.bare, "HEAD:ramet/docs")
	_, err := s.try("pull-request")
	s.refuse(err, fault.Conflict)
	// Once all of it is merged, the next run may have the branch.
	s.git(s.source, "push", "-q", s.bare, "HEAD:main")
	s.begin(s.forge.URL+"/o/r.git", "gitea")
	s.do("clone")
	s.draft("drafts/page/changes.patch", map[string]string{page: "# A third\n"})
	s.do("apply", "pull-request")
	if s.git(s.bare, "rev-parse", "ramet/docs^") != s.git(s.bare, "rev-parse", "main") {
		t.Error("the branch does not begin at the default one")
	}
}

func TestRefusalsOfTheForgeAreFailuresWithACode(t *testing.T) {
	s := newStageBuiltin(t)
	s.do("clone")
	s.drafts()
	s.do("apply")
	s.forge.Demand("another") // the API refuses; git does not
	_, err := s.try("pull-request")
	s.refuse(err, fault.Denied, "token")
	s.forge.Demand(token)
	s.forge.After(func() bool { return true }) // the answer is lost
	s.do("pull-request")
	if len(s.forge.Pulls()) != 1 || s.forge.Posts() != 1 {
		t.Errorf("%+v", s.forge.Pulls())
	}
}

func TestPagesGoIntoAnotherRepository(t *testing.T) {
	s := newStageBuiltin(t)
	site := filepath.Join(t.TempDir(), "site")
	s.file(site, "docs/README.md", "# Site\n\nWelcome.\n")
	s.git(site, "init", "-q", "-b", "trunk")
	s.git(site, "add", "-A")
	s.git(site, "commit", "-q", "-m", "site")
	s.begin(s.source, "")
	s.w.Site.Params["into"] = site
	r := s.do("clone")
	if len(r.Clones) != 2 || r.Clones[1].Name != "into" || r.Clones[1].Commit != s.git(site, "rev-parse", "HEAD") {
		t.Errorf("%+v", r.Clones)
	}
	s.drafts()
	s.do("apply", "pull-request")
	// The files of both are there as bundles.
	var in builtinInputs
	if err := decodeStrict([]byte(s.content(inputsFile)), &in); err != nil || in.Source == "" || in.Source == in.Base || s.content(sourceFile) == s.content(bundleFile) {
		t.Errorf("%+v %v", in, err)
	}
	if p := s.pr(); p.BaseCommit != r.Clones[1].Commit || slices.Contains(p.AffectedPaths, "greet.go") {
		t.Errorf("%+v", p)
	}
	if _, err := os.Stat(filepath.Join(s.w.Site.Dir, "work/tree/greet.go")); err == nil {
		t.Error("the source is in the target")
	}
	s.git(site, "fetch", "-q", filepath.Join(s.w.Site.Dir, "artifacts/pr/branch.bundle"), "ramet/docs:ramet/docs")
}

func TestWithoutAChangeThereIsNoPullRequest(t *testing.T) {
	s := newStageBuiltin(t)
	s.do("clone")
	s.file(s.w.Site.Dir, "artifacts/docs.patch", "")
	if r := s.do("pull-request"); r.PR != "" || len(s.pr().AffectedPaths) != 0 || len(s.forge.Pulls()) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestInputsThatAreNoRepository(t *testing.T) {
	s := newStageBuiltin(t)
	empty := filepath.Join(t.TempDir(), "empty")
	s.git(s.source, "init", "-q", empty)
	for address, code := range map[string]fault.Code{"": fault.Usage, filepath.Join(t.TempDir(), "x"): fault.NotFound, empty: fault.Conflict,
		"ext::touch x": fault.Usage, s.forge.URL + "/o/none.git": fault.NotFound} {
		s.begin(address, "gitea")
		_, err := s.try("clone")
		s.refuse(err, code)
		if _, err := os.Stat(filepath.Join(s.w.Site.Dir, "work/repo")); err == nil {
			t.Errorf("%q left something", address)
		}
	}
	s.begin(s.source, "")
	s.file(s.source, "greet.go", "package greet // changed\n")
	r := s.do("clone")
	if len(r.Issues) != 1 || r.Issues[0].Severity != Warn || r.Issues[0].Code != "NOT_COMMITTED" {
		t.Errorf("%+v", r.Issues)
	}
	it := s.item("clone")
	it.Task.Uses = "nonsense"
	_, err := s.w.Do(t.Context(), it, nil)
	s.refuse(err, fault.InvalidRecipe, "clone")
}
