package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestAConflictLosesNothing(t *testing.T) {
	g := newGround(t)
	tree := g.make("ada")
	g.file(tree.Dir, "a.txt", "ada's\n")
	g.file(tree.Dir, "mine", "ada's\n")
	g.file(g.dir, "a.txt", "parent's\n")
	g.save(g.dir, "parent")
	// The parent has work of its own that nobody committed, elsewhere.
	g.file(g.dir, "b.txt", "b, changed\n")
	g.file(g.dir, "untracked", "u\n")
	before := g.look()
	_, err := g.k.Merge(t.Context(), tree, g.dir, "ada")
	refuse(t, err, fault.Conflict, "both ada and "+g.dir+" changed: a.txt:", "nothing was changed there")
	after := g.look()
	if got := strings.ReplaceAll(after, g.git(tree.Dir, "rev-parse", "HEAD"), tree.Head); got != before &&
		strings.Join(strings.Fields(g.git(g.dir, "status", "--porcelain")), " ") != "M b.txt ?? untracked" {
		t.Errorf("changed:\n%s\n\n%s", before, got)
	}
	g.expect(g.dir, "a.txt", "parent's\n")
	g.expect(g.dir, "b.txt", "b, changed\n")
	g.expect(g.dir, "untracked", "u\n")
	g.expect(tree.Dir, "a.txt", "ada's\n")
	g.expect(tree.Dir, "mine", "ada's\n")
	if g.git(tree.Dir, "log", "-1", "--format=%s") != "ramet: work of ada" {
		t.Error("the child's work is not committed")
	}
	// As the hint says: the other way round, resolved there, then again.
	g.file(tree.Dir, "a.txt", "both\n")
	g.git(tree.Dir, "merge", "-q", "-X", "ours", "main")
	g.file(tree.Dir, "a.txt", "both\n")
	testkit.Must(g.k.Merge(t.Context(), tree, g.dir, "ada"))(t)
	g.expect(g.dir, "a.txt", "both\n")
	g.expect(g.dir, "b.txt", "b, changed\n")
}

func TestChangesInTheWayAreNamedAndKept(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(g *ground)
		file    string
	}{
		"changed":         {func(g *ground) { g.file(g.dir, "a.txt", "mine\n") }, "a.txt"},
		"untracked":       {func(g *ground) { g.file(g.dir, "new ü", "mine\n") }, "new ü"},
		"staged":          {func(g *ground) { g.file(g.dir, "a.txt", "mine\n"); g.git(g.dir, "add", "a.txt") }, "a.txt"},
		"staged, another": {func(g *ground) { g.file(g.dir, "b.txt", "mine\n"); g.git(g.dir, "add", "b.txt") }, "b.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			tree := g.make("ada")
			g.file(tree.Dir, "a.txt", "ada's\n")
			g.file(tree.Dir, "new ü", "ada's\n")
			g.save(tree.Dir, "ada")
			c.prepare(g)
			before := g.look()
			_, err := g.k.Merge(t.Context(), tree, g.dir, "ada")
			refuse(t, err, fault.Conflict, "not committed are in the way of ada: "+c.file+": commit or stash them")
			if now := g.look(); now != before {
				t.Errorf("changed:\n%s\n\n%s", before, now)
			}
			g.expect(g.dir, c.file, "mine\n")
		})
	}
}

func TestAMergeUnderWayIsToldWhatToDo(t *testing.T) {
	g := newGround(t)
	tree := g.make("ada")
	g.file(tree.Dir, "c", "c\n")
	head := g.save(tree.Dir, "c")
	// A crash of ours between the merge and its commit.
	g.git(g.dir, "merge", "-q", "--no-ff", "--no-commit", head)
	before := g.look()
	_, err := g.k.Merge(t.Context(), tree, g.dir, "ada")
	refuse(t, err, fault.Conflict, "a merge of the same work into "+g.dir+" was interrupted: undo it with `git -C "+g.dir+" merge --abort`")
	if g.look() != before {
		t.Error("changed")
	}
	g.git(g.dir, "merge", "--abort")
	if m, err := g.k.Merge(t.Context(), tree, g.dir, "ada"); err != nil || m.Commits != 1 {
		t.Errorf("%+v, %v", m, err)
	}

	// The user's own, on either side.
	g.file(g.dir, "d", "d")
	g.save(g.dir, "d")
	g.file(tree.Dir, "a.txt", "markers would be committed\n")
	tip := g.git(g.dir, "rev-parse", "HEAD")
	testkit.OK(t, os.WriteFile(filepath.Join(g.git(tree.Dir, "rev-parse", "--absolute-git-dir"), "MERGE_HEAD"), []byte(tip+"\n"), 0o600))
	_, err = g.k.Merge(t.Context(), tree, g.dir, "ada")
	refuse(t, err, fault.Conflict, "a merge is in progress in "+tree.Dir)
	if g.git(tree.Dir, "status", "--porcelain") == "" {
		t.Error("it was committed")
	}
}

func TestALockThatADeadGitLeftIsNamed(t *testing.T) {
	g := newGround(t)
	tree := g.make("ada")
	g.file(tree.Dir, "c", "c\n")
	g.file(g.dir, ".git/index.lock", "")
	_, err := g.k.Merge(t.Context(), tree, g.dir, "ada")
	refuse(t, err, fault.Locked, "another git works in "+g.dir, "remove "+filepath.Join(g.dir, ".git/index.lock"))
	os.Remove(filepath.Join(g.dir, ".git/index.lock"))
	if m, err := g.k.Merge(t.Context(), tree, g.dir, "ada"); err != nil || m.Commits != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestMergeGoesOnlyWhereItCan(t *testing.T) {
	g := newGround(t)
	tree := g.make("ada")
	other := t.TempDir()
	g.git(other, "init", "-q")
	g.file(other, "x", "x")
	g.save(other, "x")
	_, err := g.k.Merge(t.Context(), tree, other, "ada")
	refuse(t, err, fault.Conflict, "belong to different repositories")
	_, err = g.k.Merge(t.Context(), tree, tree.Dir, "ada")
	refuse(t, err, fault.Conflict, "cannot be merged into itself")
	_, err = g.k.Merge(t.Context(), tree, t.TempDir(), "ada")
	refuse(t, err, fault.NotFound, "is in no git repository")

	// A child that left its branch: what it has checked out counts.
	g.git(tree.Dir, "checkout", "-q", "--detach")
	g.file(tree.Dir, "c", "c\n")
	list, err := g.k.List(t.Context(), g.dir)
	if err != nil || len(list) != 1 || list[0].Branch != "" {
		t.Fatalf("%+v, %v", list, err)
	}
	if m, err := g.k.Merge(t.Context(), list[0], g.dir, "ada"); err != nil || m.Commits != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	g.expect(g.dir, "c", "c\n")

	testkit.OK(t, os.RemoveAll(tree.Dir))
	tree.Gone = true
	_, err = g.k.Merge(t.Context(), tree, g.dir, "ada")
	refuse(t, err, fault.NotFound, "no folder", "on the branch ramet/ada")
}

func TestRemoveThrowsNothingAwayUnasked(t *testing.T) {
	g := newGround(t)
	tree := g.make("ada")
	find := func() Tree {
		t.Helper()
		list, err := g.k.List(t.Context(), g.dir)
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	remove := func(into string, force bool) (Removed, error) {
		t.Helper()
		return g.k.Remove(t.Context(), g.dir, find(), into, force)
	}
	g.file(tree.Dir, "c", "c\n")
	before := g.look()
	_, err := remove(g.dir, false)
	refuse(t, err, fault.Conflict, "has changes that are not committed: `ramet merge "+string(tree.Child)+"`")
	if g.look() != before {
		t.Error("changed")
	}
	g.save(tree.Dir, "c")
	_, err = remove(g.dir, false)
	refuse(t, err, fault.Conflict, "has commits that are merged nowhere: 1")
	// Another agent's branch is no safe place; one of the user's is, whatever is
	// checked out in the parent's folder.
	g.git(g.dir, "branch", "ramet/other", "ramet/ada")
	_, err = remove(g.dir, false)
	refuse(t, err, fault.Conflict, "merged nowhere")
	g.git(g.dir, "branch", "kept", "ramet/ada")
	if r, err := remove(filepath.Join(g.dir, "gone"), false); err != nil || !r.BranchDeleted {
		t.Errorf("%+v, %v", r, err)
	}

	tree = g.make("ada")
	g.file(tree.Dir, "c", "c\n")
	g.save(tree.Dir, "c")
	g.git(g.dir, "branch", "--force", "kept", "ramet/ada")
	g.file(tree.Dir, "d", "d\n")
	g.git(g.dir, "worktree", "lock", tree.Dir)
	if r, err := remove(g.dir, true); err != nil || !r.BranchDeleted {
		t.Errorf("%+v, %v", r, err)
	}

	// Somebody removed the folder.
	tree = g.make("ada")
	g.file(tree.Dir, "e", "e\n")
	g.save(tree.Dir, "e")
	testkit.OK(t, os.RemoveAll(tree.Dir))
	if !find().Gone {
		t.Error("it is not said to be gone")
	}
	_, err = remove(g.dir, false)
	refuse(t, err, fault.Conflict, "merged nowhere")
	branch := find().Branch
	if r, err := remove(g.dir, true); err != nil || r.BranchDeleted {
		t.Errorf("%+v, %v", r, err)
	}
	g.git(g.dir, "rev-parse", "--verify", branch) // its commits are nowhere else

	// The agent went over to a branch of the user's: that one stays.
	tree = g.make("ada")
	g.git(tree.Dir, "checkout", "-q", "kept")
	if r, err := remove(g.dir, true); err != nil || r.BranchDeleted {
		t.Errorf("%+v, %v", r, err)
	}
	g.git(g.dir, "rev-parse", "--verify", "kept")
}
