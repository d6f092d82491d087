package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	testkit.OK(t, os.MkdirAll(dir, 0o755))
	return dir
}

func TestTheProjectIsTheNearestFolderWithASign(t *testing.T) {
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	deep := mkdir(t, root, "repo", "a", "b")
	mkdir(t, root, "repo", ".git")
	inner := mkdir(t, root, "repo", "a")
	if got, _ := ProjectFolder(deep); got != filepath.Join(root, "repo") {
		t.Errorf("in a repository: %s", got)
	}
	mkdir(t, inner, ".ramet")
	if got, _ := ProjectFolder(deep); got != inner {
		t.Errorf("nearer .ramet: %s", got)
	}
	tree := mkdir(t, root, "repo", "tree")
	testkit.OK(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: ../.git/worktrees/tree\n"), 0o644))
	if got, _ := ProjectFolder(tree); got != tree {
		t.Errorf("a worktree is its own: %s", got)
	}
	link := filepath.Join(root, "link")
	testkit.OK(t, os.Symlink(deep, link))
	if got, _ := ProjectFolder(link); got != inner {
		t.Errorf("through a link: %s", got)
	}
	if _, err := ProjectFolder(filepath.Join(root, "nowhere")); !fault.Is(err, fault.NotFound) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestTheStrongestChoiceWins(t *testing.T) {
	root := t.TempDir()
	home, dir, other := mkdir(t, root, "home"), mkdir(t, root, "my project"), mkdir(t, root, "other")
	mkdir(t, dir, ".git")
	mkdir(t, other, ".git")
	at := func(c WorkspaceChoice) WorkspaceLocation {
		t.Helper()
		c.Home, c.Dir = home, dir
		p := testkit.Must(LocateWorkspace(c))(t)
		return p
	}
	mine := at(WorkspaceChoice{})
	if !strings.HasPrefix(mine.Name, "my-project-") || !strings.HasPrefix(mine.DB, filepath.Join(home, "workspaces", mine.Name)) {
		t.Errorf("by project: %+v", mine)
	}
	if p := at(WorkspaceChoice{ConfigDB: "/c.db"}); p.DB != "/c.db" {
		t.Errorf("by configuration: %+v", p)
	}
	theirs := at(WorkspaceChoice{ConfigDB: "/c.db", Workspace: "../other"})
	if !strings.HasPrefix(theirs.Name, "other-") {
		t.Errorf("by folder: %+v", theirs)
	}
	mkdir(t, home, "workspaces", theirs.Name)
	if p := at(WorkspaceChoice{Workspace: "other"}); p.DB != theirs.DB {
		t.Errorf("by name: %+v", p)
	}
	if p := at(WorkspaceChoice{Workspace: "../other", DB: "x.db"}); p.DB != filepath.Join(dir, "x.db") {
		t.Errorf("by --db: %+v", p)
	}
	if p := at(WorkspaceChoice{DB: "postgres://h/d"}); p.DB != "postgres://h/d" {
		t.Errorf("by URL: %+v", p)
	}
	_, err := LocateWorkspace(WorkspaceChoice{Home: home, Dir: dir, Workspace: "othr-00000000"})
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("unknown: %v", err)
	}
}

// Workspaces that there are keep their names.
func TestNamesAreMadeFitAsEver(t *testing.T) {
	unfit := regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	rapid.Check(t, func(t *rapid.T) {
		name := string(rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.StringMatching(`[ a-c.é/-]*`), func(s string) []byte { return []byte(s) })).Draw(t, "name"))
		if got, want := fitName(name), unfit.ReplaceAllString(name, "-"); got != want {
			t.Fatalf("%q: %q, not %q", name, got, want)
		}
	})
}
