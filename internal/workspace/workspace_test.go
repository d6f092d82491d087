package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/fault"
)

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheProjectIsTheNearestFolderWithASign(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := mkdir(t, root, "repo", "a", "b")
	mkdir(t, root, "repo", ".git")
	inner := mkdir(t, root, "repo", "a")
	if got, _ := Project(deep); got != filepath.Join(root, "repo") {
		t.Errorf("in a repository: %s", got)
	}
	mkdir(t, inner, ".ramet")
	if got, _ := Project(deep); got != inner {
		t.Errorf("nearer .ramet: %s", got)
	}
	tree := mkdir(t, root, "repo", "tree")
	if err := os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: ../.git/worktrees/tree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := Project(tree); got != tree {
		t.Errorf("a worktree is its own: %s", got)
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(deep, link); err != nil {
		t.Fatal(err)
	}
	if got, _ := Project(link); got != inner {
		t.Errorf("through a link: %s", got)
	}
	if _, err := Project(filepath.Join(root, "nowhere")); !fault.Is(err, fault.NotFound) {
		t.Errorf("missing folder: %v", err)
	}
}

func TestTheStrongestChoiceWins(t *testing.T) {
	root := t.TempDir()
	home, dir, other := mkdir(t, root, "home"), mkdir(t, root, "my project"), mkdir(t, root, "other")
	mkdir(t, dir, ".git")
	mkdir(t, other, ".git")
	at := func(c Choice) Location {
		t.Helper()
		c.Home, c.Dir = home, dir
		p, err := Locate(c)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	mine := at(Choice{})
	if !strings.HasPrefix(mine.Name, "my-project-") || !strings.HasPrefix(mine.DB, filepath.Join(home, "workspaces", mine.Name)) {
		t.Errorf("by project: %+v", mine)
	}
	if p := at(Choice{ConfigDB: "/c.db"}); p.DB != "/c.db" {
		t.Errorf("by configuration: %+v", p)
	}
	theirs := at(Choice{ConfigDB: "/c.db", Workspace: "../other"})
	if !strings.HasPrefix(theirs.Name, "other-") {
		t.Errorf("by folder: %+v", theirs)
	}
	mkdir(t, home, "workspaces", theirs.Name)
	if p := at(Choice{Workspace: "other"}); p.DB != theirs.DB {
		t.Errorf("by name: %+v", p)
	}
	if p := at(Choice{Workspace: "../other", DB: "x.db"}); p.DB != filepath.Join(dir, "x.db") {
		t.Errorf("by --db: %+v", p)
	}
	if p := at(Choice{DB: "postgres://h/d"}); p.DB != "postgres://h/d" {
		t.Errorf("by URL: %+v", p)
	}
	_, err := Locate(Choice{Home: home, Dir: dir, Workspace: "othr-00000000"})
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("unknown: %v", err)
	}
}
