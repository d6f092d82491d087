package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(path...)))(t)
	return string(text)
}

func TestARemovedWorktreeComesBackWithWhatGitIgnores(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, ".gitignore", "*.o\n")
	g.save(g.dir, "ignore")
	tree := g.make("ada")
	if r, err := g.k.Remove(t.Context(), g.dir, tree, g.dir, false); err != nil || r.Trashed != "" {
		t.Errorf("git has all of it: %+v, %v", r, err)
	}
	tree = g.make("ada")
	g.file(tree.Dir, "x.o", "object\n")
	testkit.Must(g.k.Remove(t.Context(), g.dir, tree, g.dir, false))(t)
	tree = g.make("ada")
	g.file(tree.Dir, "sub/x.o", "object\n")
	g.file(tree.Dir, "new", "new\n")
	g.file(tree.Dir, "committed", "committed\n")
	g.git(tree.Dir, "add", "committed")
	g.git(tree.Dir, "commit", "-qm", "committed")
	r, err := g.k.Remove(t.Context(), g.dir, tree, g.dir, true)
	if err != nil || r.Trashed == "" || r.BranchDeleted {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := os.Lstat(tree.Dir); err == nil {
		t.Error("the folder is still there")
	}
	all, err := g.k.trash().List()
	if err != nil || len(all) != 2 || all[1].Name() != r.Trashed || all[1].Agent != tree.Child {
		t.Fatalf("%+v, %v", all, err)
	}
	to, err := g.k.Return(t.Context(), all[1], "")
	if err != nil || to != tree.Dir {
		t.Fatalf("%s, %v", to, err)
	}
	if readFile(t, to, "sub/x.o") != "object\n" || readFile(t, to, "new") != "new\n" || readFile(t, to, "committed") != "committed\n" {
		t.Error("a file is another")
	}
	if got := g.git(to, "status", "--short", "--branch"); strings.TrimSpace(got) != "## "+tree.Branch+"\n?? new" {
		t.Errorf("status: %q", got)
	}
	if _, err := g.k.Return(t.Context(), all[0], to); !fault.Is(err, fault.Conflict) {
		t.Errorf("it overwrites: %v", err)
	}
}

func TestCommitsThatAreOnNoBranchGetOne(t *testing.T) {
	g := newGround(t)
	tree := g.make("ada")
	g.git(tree.Dir, "checkout", "-q", "--detach")
	g.file(tree.Dir, "c", "c\n")
	g.save(tree.Dir, "c")
	head := strings.TrimSpace(g.git(tree.Dir, "rev-parse", "HEAD"))
	list := testkit.Must(g.k.List(t.Context(), g.dir))(t)
	testkit.Must(g.k.Remove(t.Context(), g.dir, list[0], g.dir, true))(t)
	if got := g.git(g.dir, "branch", "--contains", head); strings.TrimSpace(got) == "" {
		t.Error("its commits are on no branch")
	}
}

func TestAMergeOverwritesNothingThatIsIgnored(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, ".gitignore", ".env\nbuild\n")
	g.save(g.dir, "ignore")
	g.file(g.dir, ".env", "the person's\n")
	g.file(g.dir, "build", "the person's, too\n")
	tree := g.make("ada")
	g.file(tree.Dir, ".env", "the agent's\n")
	g.file(tree.Dir, "build/x", "the agent's\n")
	g.git(tree.Dir, "add", "--force", ".env", "build/x")
	g.git(tree.Dir, "commit", "-qm", "env")

	// While the merge cannot be made, nothing moves.
	g.file(g.dir, "a.txt", "in the way\n")
	g.file(tree.Dir, "a.txt", "changed\n")
	if _, err := g.k.Merge(t.Context(), tree, g.dir, "ada"); !fault.Is(err, fault.Conflict) {
		t.Fatalf("%v", err)
	}
	if readFile(t, g.dir, ".env") != "the person's\n" || readFile(t, g.dir, "build") != "the person's, too\n" {
		t.Error("a merge that was refused changed an ignored file")
	}
	g.git(g.dir, "checkout", "-q", "--", "a.txt")

	m, err := g.k.Merge(t.Context(), tree, g.dir, "ada")
	if err != nil || len(m.Trashed) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	if readFile(t, g.dir, ".env") != "the agent's\n" || readFile(t, g.dir, "build", "x") != "the agent's\n" {
		t.Error("it is not merged")
	}
	all, err := g.k.trash().List()
	if err != nil || len(all) != 2 || all[0].Verb != "merge" {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, e := range all {
		to := filepath.Join(t.TempDir(), "back")
		if _, err := g.k.trash().Restore(e, to); err != nil || !strings.HasPrefix(readFile(t, to), "the person's") {
			t.Errorf("%s: %v", e.Path, err)
		}
	}
}
