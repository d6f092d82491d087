package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"slices"
	"strings"
	"sync"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

// ground is a repository with one commit, and a keeper.
type ground struct {
	t   *testing.T
	dir string
	k   Keeper
}

func newGround(t *testing.T) *ground {
	t.Helper()
	home := real(t.TempDir())
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1") // for the git of the tests; ours takes no GIT_ variable
	g := &ground{t: t, dir: filepath.Join(real(t.TempDir()), "pro ject"), k: Keeper{Dir: Folder(home, "w")}}
	g.file(g.dir, "a.txt", "a\n")
	g.file(g.dir, "b.txt", "b\n")
	g.git(g.dir, "init", "-q", "-b", "main")
	g.save(g.dir, "first")
	return g
}

// git runs git as a user would.
func (g *ground) git(dir string, args ...string) string {
	g.t.Helper()
	return testkit.Git(g.t, dir, args...)
}

func (g *ground) save(dir, message string) string {
	g.t.Helper()
	g.git(dir, "add", "-A")
	g.git(dir, "commit", "-q", "-m", message)
	return g.git(dir, "rev-parse", "HEAD")
}

func (g *ground) file(dir, name, text string) {
	g.t.Helper()
	testkit.WriteFile(g.t, filepath.Join(dir, name), text)
}

func (g *ground) expect(dir, name, text string) {
	g.t.Helper()
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
		g.t.Errorf("%s holds %q (%v), want %q", name, got, err, text)
	}
}

func (g *ground) make(name string) Tree {
	g.t.Helper()
	tree := testkit.Must(g.k.Make(g.t.Context(), g.dir, id.NewAgent(), name, ""))(g.t)
	return tree
}

// look is everything about the repository that must not change by itself.
func (g *ground) look() string {
	g.t.Helper()
	return strings.Join([]string{g.git(g.dir, "for-each-ref"), g.git(g.dir, "status", "--porcelain", "--ignored"),
		g.git(g.dir, "worktree", "list"), g.git(g.dir, "stash", "list"), g.git(g.dir, "diff"), g.git(g.dir, "diff", "--cached")}, "\n")
}

func refuse(t *testing.T, err error, code fault.Code, parts ...string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}

func TestAWorktreeGoesOutAndComesBack(t *testing.T) {
	g := newGround(t)
	tree := g.make("ada")
	if tree.Branch != "ramet/ada" || tree.Dir != filepath.Join(g.k.Dir, string(tree.Child)) || tree.Cwd != tree.Dir || tree.Left || tree.Head != g.git(g.dir, "rev-parse", "HEAD") {
		t.Errorf("%+v", tree)
	}
	g.expect(tree.Dir, "a.txt", "a\n")
	g.file(tree.Dir, "a.txt", "from ada\n")
	g.file(tree.Dir, "new/ü x", "new\n")
	if s, err := g.k.State(t.Context(), tree, g.dir); err != nil || s != (State{Dirty: true}) {
		t.Errorf("%+v, %v", s, err)
	}
	g.expect(g.dir, "a.txt", "a\n")

	m, err := g.k.Merge(t.Context(), tree, g.dir, "ada")
	if err != nil || m.Commits != 1 || !m.Committed || m.Into != g.dir || m.Branch != "ramet/ada" || !slices.Equal(m.Files, []string{"a.txt", "new/ü x"}) {
		t.Fatalf("%+v, %v", m, err)
	}
	g.expect(g.dir, "a.txt", "from ada\n")
	g.expect(g.dir, "new/ü x", "new\n")
	for commit, want := range map[string]string{"HEAD": "ramet: merge of ada|ramet <ramet@localhost>", "HEAD^2": "ramet: work of ada|ramet <ramet@localhost>"} {
		if got := g.git(g.dir, "log", "-1", "--format=%s|%an <%ae>", commit); got != want {
			t.Error(commit, got)
		}
	}
	if m.Commit != g.git(g.dir, "rev-parse", "HEAD") || len(strings.Fields(g.git(g.dir, "log", "-1", "--format=%P"))) != 2 {
		t.Error("no merge commit")
	}

	// Again: nothing.
	before := g.look()
	m, err = g.k.Merge(t.Context(), tree, g.dir, "ada")
	if err != nil || m.Commit != "" || m.Commits != 0 || m.Committed || len(m.Files) != 0 || g.look() != before {
		t.Errorf("%+v, %v", m, err)
	}

	list, err := g.k.List(t.Context(), g.dir)
	if err != nil || len(list) != 1 || list[0].Child != tree.Child || list[0].Branch != tree.Branch || list[0].Dir != tree.Dir || list[0].Gone {
		t.Errorf("%+v, %v", list, err)
	}
	r, err := g.k.Remove(t.Context(), g.dir, list[0], g.dir, false)
	if err != nil || !r.BranchDeleted {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Lstat(tree.Dir); !os.IsNotExist(err) || g.git(g.dir, "branch", "--list", "ramet/*") != "" {
		t.Error("something is left")
	}
}

func TestTheUserSignsWhereTheUserIsKnown(t *testing.T) {
	g := newGround(t)
	// Signing would ask for a passphrase.
	g.file(os.Getenv("HOME"), ".gitconfig", "[user]\nname = Real Name\nemail = r@x\n[commit]\ngpgsign = true\n[gpg]\nprogram = false\n[merge]\nff = only\nautoStash = true\n")
	tree := g.make("ada")
	g.file(tree.Dir, "c", "c")
	testkit.Must(g.k.Merge(t.Context(), tree, g.dir, "ada"))(t)
	if log := g.git(g.dir, "log", "-1", "--format=%an <%ae>"); log != "Real Name <r@x>" {
		t.Error(log)
	}
}

func TestAChildStandsWhereItsParentDoes(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, "sub/x", "x")
	g.save(g.dir, "sub")
	g.file(g.dir, "empty/x", "not committed")
	for _, sub := range []string{"sub", "empty"} {
		tree, err := g.k.Make(t.Context(), filepath.Join(g.dir, sub), id.NewAgent(), "", "")
		if err != nil || tree.Cwd != filepath.Join(tree.Dir, sub) || !tree.Left || tree.Branch != "ramet/"+tree.Child.Short() {
			t.Fatalf("%+v, %v", tree, err)
		}
		if info, err := os.Stat(tree.Cwd); err != nil || !info.IsDir() {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(tree.Dir, "empty", "x")); err == nil {
			t.Error("what is not committed came along")
		}
		of, ok, err := g.k.Of(t.Context(), g.dir, tree.Cwd)
		if err != nil || !ok || of.Child != tree.Child {
			t.Errorf("%+v, %t, %v", of, ok, err)
		}
	}
	for _, other := range []string{g.dir, g.k.Dir, "/", filepath.Join(g.k.Dir, "no uuid")} {
		if _, ok, err := g.k.Of(t.Context(), g.dir, other); ok || err != nil {
			t.Errorf("%s: %t, %v", other, ok, err)
		}
	}
	// A child of a child begins with what that one committed.
	tree := g.make("one")
	g.file(tree.Dir, "deep", "deep")
	g.save(tree.Dir, "deep")
	two := testkit.Must(g.k.Make(t.Context(), tree.Dir, id.NewAgent(), "two", ""))(t)
	g.expect(two.Dir, "deep", "deep")
	g.file(two.Dir, "deep", "deeper")
	testkit.Must(g.k.Merge(t.Context(), two, tree.Dir, "two"))(t)
	g.expect(tree.Dir, "deep", "deeper")
}

func TestBranchesGetFreeNames(t *testing.T) {
	g := newGround(t)
	g.git(g.dir, "branch", "ramet/eve/x")
	for _, c := range [][2]string{{"ada", "ramet/ada"}, {"ada", "ramet/ada-2"}, {"ada", "ramet/ada-3"}, {"eve", "ramet/eve-2"}, {"a-b_c.d", "ramet/a-b_c.d"}} {
		if tree := g.make(c[0]); tree.Branch != c[1] {
			t.Errorf("%s: %s", c[0], tree.Branch)
		}
	}
	for _, odd := range []string{"", "a..b", "a.lock", "a.", "--x", "a b", "a~1"} {
		tree := g.make(odd)
		if odd != "--x" && tree.Branch != "ramet/"+tree.Child.Short() {
			t.Errorf("%q: %s", odd, tree.Branch)
		}
	}
	other := newGround(t)
	other.git(other.dir, "branch", "ramet")
	tree := other.make("ada")
	if tree.Branch != "ramet-ada" {
		t.Error(tree.Branch)
	}
	if r, err := other.k.Remove(t.Context(), other.dir, tree, other.dir, false); err != nil || !r.BranchDeleted {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestManyAtOnceDoNotMeet(t *testing.T) {
	g := newGround(t)
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			tree, err := g.k.Make(t.Context(), g.dir, id.NewAgent(), "same", "")
			if err == nil {
				err = os.WriteFile(filepath.Join(tree.Dir, string(tree.Child)), nil, 0o600)
			}
			if err == nil {
				_, err = g.k.Merge(t.Context(), tree, g.dir, "same")
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil || seen[tree.Branch] {
				t.Error(tree.Branch, err)
			}
			seen[tree.Branch] = true
		})
	}
	all.Wait()
	if files, _ := filepath.Glob(filepath.Join(g.dir, "*")); len(files) != 3+8 { // and .git
		t.Error(files)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	g := newGround(t)
	plain := t.TempDir()
	_, err := g.k.Make(t.Context(), plain, id.NewAgent(), "x", "")
	refuse(t, err, fault.NotFound, plain+" is in no git repository", "git init")
	_, err = g.k.List(t.Context(), plain)
	refuse(t, err, fault.NotFound, "is in no git repository")
	_, err = g.k.Make(t.Context(), filepath.Join(plain, "gone"), id.NewAgent(), "x", "")
	refuse(t, err, fault.NotFound, "no folder")
	g.git(plain, "init", "-q")
	_, err = g.k.Make(t.Context(), plain, id.NewAgent(), "x", "")
	refuse(t, err, fault.Conflict, "has no commit yet", "commit something first")
	bare := t.TempDir()
	g.git(bare, "init", "-q", "--bare")
	_, err = g.k.Make(t.Context(), bare, id.NewAgent(), "x", "")
	refuse(t, err, fault.NotFound, "no git repository with files")
	tree := g.make("ada")
	if _, err = g.k.Make(t.Context(), g.dir, tree.Child, "x", ""); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	broken := filepath.Join(t.TempDir(), "a\nb")
	g.file(broken, "x", "x")
	g.git(broken, "init", "-q")
	g.save(broken, "x")
	_, err = g.k.Make(t.Context(), broken, id.NewAgent(), "x", "")
	refuse(t, err, fault.Failed, "a path with a line break")
	t.Setenv("PATH", "")
	_, err = g.k.Make(t.Context(), g.dir, id.NewAgent(), "x", "")
	refuse(t, err, fault.NotFound, "git is not installed")
}

func TestAFailureLeavesNoTrace(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, "c.bin", "x")
	g.file(g.dir, ".gitattributes", "c.bin filter=broken\n")
	// A worktree of the user's whose disk is not there now: nobody forgets it.
	away := filepath.Join(t.TempDir(), "away")
	g.git(g.dir, "worktree", "add", "-q", "--detach", away)
	testkit.OK(t, os.Rename(away, away+".unmounted"))
	g.save(g.dir, "filter")
	before := g.look()
	// The user's own filter fails, in the middle of the checkout.
	g.file(os.Getenv("HOME"), ".gitconfig", "[filter \"broken\"]\nclean = cat\nsmudge = false\nrequired = true\n")
	_, err := g.k.Make(t.Context(), g.dir, id.NewAgent(), "ada", "")
	refuse(t, err, fault.Failed, "git worktree: ", "broken")
	os.Remove(filepath.Join(os.Getenv("HOME"), ".gitconfig"))
	if now := g.look(); now != before {
		t.Errorf("changed:\n%s\n\n%s", before, now)
	}
	if entries, _ := os.ReadDir(g.k.Dir); len(entries) != 1 { // the lock's file
		t.Error(entries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.k.Make(ctx, g.dir, id.NewAgent(), "ada", ""); !fault.Is(err, fault.Cancelled) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	tree := g.make("ada")
	g.file(tree.Dir, "x", "x")
	g.git(tree.Dir, "add", "x")
	testkit.OK(t, g.k.Unmake(ctx, g.dir, tree))
	if now := g.look(); now != before {
		t.Errorf("changed:\n%s\n\n%s", before, now)
	}
	if err := g.k.Unmake(ctx, g.dir, tree); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestNothingOfARepositoryActs(t *testing.T) {
	g := newGround(t)
	trace := filepath.Join(t.TempDir(), "trace")
	evil := filepath.Join(t.TempDir(), "evil")
	g.file("/", evil, "#!/bin/sh\necho ran >>'"+trace+"'\ncat\n")
	os.Chmod(evil, 0o700)
	for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-merge-commit", "post-merge", "post-index-change", "reference-transaction", "post-rewrite"} {
		g.file(g.dir, ".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>'"+trace+"'\n")
		os.Chmod(filepath.Join(g.dir, ".git/hooks", hook), 0o700)
	}
	g.git(g.dir, "config", "core.fsmonitor", evil)
	g.git(g.dir, "config", "core.editor", evil)
	g.git(g.dir, "config", "merge.verifySignatures", "true")
	g.git(g.dir, "config", "gpg.program", evil)
	os.Remove(trace)
	cycle := func() error {
		tree, err := g.k.Make(t.Context(), g.dir, id.NewAgent(), "x", "")
		if err != nil {
			return err
		}
		g.file(tree.Dir, string(tree.Child), "x")
		if _, err := g.k.Merge(t.Context(), tree, g.dir, "x"); err != nil {
			return err
		}
		_, err = g.k.Remove(t.Context(), g.dir, tree, g.dir, false)
		return err
	}
	testkit.OK(t, cycle())
	quiet := func() {
		t.Helper()
		if ran, err := os.ReadFile(trace); !os.IsNotExist(err) {
			t.Errorf("%s ran: %v", ran, err)
		}
	}
	quiet()
	g.git(g.dir, "config", "core.fsmonitor", "false")
	g.git(g.dir, "config", "filter.f.smudge", evil)
	g.git(g.dir, "config", "Merge.M.driver", evil)
	g.file(g.dir, ".git/info/attributes", "a.txt filter=f\n")
	os.Remove(trace)
	refuse(t, cycle(), fault.Untrusted, "filter.f.smudge", "merge.M.driver", "ramet trust")
	quiet()
	g.k.Accepts = func(trust.Thing) (bool, error) { return true, nil }
	testkit.OK(t, cycle())
	if ran, err := os.ReadFile(trace); err != nil || strings.Trim(string(ran), "ran\n") != "" {
		t.Errorf("a trusted filter, and no hook: %q, %v", ran, err)
	}
}

func TestVariablesDoNotLeadElsewhere(t *testing.T) {
	g := newGround(t)
	other := filepath.Join(t.TempDir(), "other")
	g.file(other, "x", "x")
	g.git(other, "init", "-q")
	g.save(other, "other")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, "index"))
	t.Setenv("SOME_API_KEY", "secret")
	tree := testkit.Must(g.k.Make(t.Context(), g.dir, id.NewAgent(), "ada", ""))(t)
	g.expect(tree.Dir, "a.txt", "a\n")
	env, err := run(t.Context(), g.dir, "-c", "alias.environment=!env", "environment")
	if err != nil || !strings.Contains(env, "GIT_ALLOW_PROTOCOL=none") {
		t.Fatal(env, err)
	}
	for pair := range strings.Lines(env) {
		if strings.Contains(pair, other) || strings.Contains(pair, "secret") {
			t.Error(pair)
		}
	}
}

// What came from the parent is its own until the child changes it: it is not told of as the
// child's, neither as files that differ, nor as what is not committed, nor in a diff.
func TestWhatWasBroughtIsNotTheChildsWork(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, "c.txt", "c\n")
	g.save(g.dir, "second")
	tree := g.make("ada")
	g.file(tree.Dir, "a.txt", "from the parent\n")
	g.file(tree.Dir, "b.txt", "from the parent, too\n")
	g.file(tree.Dir, "notes/new.txt", "notes\n")
	testkit.OK(t, os.Remove(filepath.Join(tree.Dir, "c.txt")))
	testkit.OK(t, g.k.NoteBrought(t.Context(), tree, []string{"a.txt", "b.txt", "notes/new.txt", "c.txt"}))
	work := func(want Work) {
		t.Helper()
		want.Branch = "ramet/ada"
		if w, err := g.k.Work(t.Context(), tree, g.dir); err != nil || fmt.Sprintf("%+v", w) != fmt.Sprintf("%+v", want) {
			t.Errorf("%+v, %v; want %+v", w, err, want)
		}
	}
	work(Work{})
	if d, err := g.k.Diff(t.Context(), tree, g.dir, ""); err != nil || d != "" {
		t.Errorf("%q, %v", d, err)
	}
	g.file(tree.Dir, "a.txt", "from the parent\nfrom the child\n")
	g.file(tree.Dir, "notes/own.txt", "own\n")
	both := []string{"a.txt", "notes/own.txt"}
	work(Work{Stat: "1 file changed, 1 insertion(+)", Files: both, Dirty: both})
	d, err := g.k.Diff(t.Context(), tree, g.dir, "")
	if err != nil || !strings.Contains(d, "+from the child") || !strings.HasSuffix(d, "new, not committed: notes/own.txt\n") ||
		strings.Contains(d, "+from the parent") || strings.Contains(d, "b.txt") || strings.Contains(d, "c.txt") || strings.Contains(d, "new.txt") {
		t.Errorf("%q, %v", d, err)
	}
	testkit.OK(t, g.k.Commit(t.Context(), tree, "ada", "u"))
	work(Work{Commits: 1, Stat: "2 files changed, 2 insertions(+)", Files: both})
	g.file(tree.Dir, "notes/new.txt", "notes\nof the child\n") // not committed, and not known to git
	work(Work{Commits: 1, Stat: "2 files changed, 2 insertions(+)", Files: append(both, "notes/new.txt"), Dirty: []string{"notes/new.txt"}})
	if d, err := g.k.Diff(t.Context(), tree, g.dir, "b.txt"); err != nil || d != "" {
		t.Errorf("%q, %v", d, err)
	}
}

func TestWhereAFolderStands(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, "sub/x", "x")
	g.file(g.dir, "sub/a b", "not committed\n")
	branch := g.git(g.dir, "symbolic-ref", "--short", "HEAD")
	see := func(dir, want string, files int) {
		t.Helper()
		if got, n, err := Stands(t.Context(), dir); err != nil || got != want || n != files {
			t.Errorf("%s: %q, %d, %v; want %q, %d", dir, got, n, err, want, files)
		}
	}
	see(filepath.Join(g.dir, "sub"), branch, 2)
	g.save(g.dir, "all")
	see(g.dir, branch, 0)
	tree := g.make("ada")
	see(tree.Cwd, tree.Branch, 0)
	g.git(g.dir, "checkout", "-q", "--detach")
	see(g.dir, "", 0)
	see(t.TempDir(), "", 0)
	g.git(g.dir, "config", "filter.x.clean", "touch ran")
	if _, _, err := Stands(t.Context(), g.dir); err == nil {
		t.Error("programs of a repository are told of, not run")
	}
	g.git(g.dir, "config", "--unset", "filter.x.clean")
	empty := filepath.Join(g.dir, "sub", "empty", ".git") // git passes it by
	testkit.OK(t, os.MkdirAll(empty, 0o700))
	g.git(g.dir, "checkout", "-q", branch)
	see(filepath.Dir(empty), branch, 0)
}
