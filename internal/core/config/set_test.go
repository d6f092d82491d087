package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestSetKeepsTheRest(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"nothing":         {"", "model = \"new\"\n"},
		"a comment":       {"# mine\n", "# mine\nmodel = \"new\"\n"},
		"no last newline": {"color = 'auto'", "color = 'auto'\nmodel = \"new\"\n"},
		"the same key":    {"# a\nmodel = \"old\"\n# b\n", "# a\nmodel = \"new\"\n# b\n"},
		"layout":          {"  model\t=  'old'   # why # not\ncolor = \"auto\"", "  model\t=  \"new\"   # why # not\ncolor = \"auto\""},
		"a hash inside":   {"model = \"o#l\\\"d\" # c\n", "model = \"new\" # c\n"},
		"quoted key":      {"\"model\" = ''\n", "\"model\" = \"new\"\n"},
		"windows":         {"color = 'auto'\r\nmodel = 'old'\r\n", "color = 'auto'\r\nmodel = \"new\"\r\n"},
		"windows, new":    {"color = 'auto'\r\n", "color = 'auto'\r\nmodel = \"new\"\r\n"},
		"a number":        {"model = 3 # three\n", "model = \"new\" # three\n"},
		"a list":          {"model = [ 'a', # x\n 'b' ]\ncolor = 'auto'\n", "model = \"new\" # x\ncolor = 'auto'\n"},
		"many lines":      {"model = \"\"\"\nx\n# y\n\"\"\"\n# end\n", "model = \"new\"\n# end\n"},
		"a table":         {"# top\n\n[other]\nmodel = 'x'\n", "# top\n\nmodel = \"new\"\n[other]\nmodel = 'x'\n"},
		"a list of lists": {"x = [\n[1],\n[2]]\n[t]\n", "x = [\n[1],\n[2]]\nmodel = \"new\"\n[t]\n"},
		"not a number":    {"x = nan\n", "x = nan\nmodel = \"new\"\n"},
		"the key in text": {"x = '''\nmodel = 1\n'''\n", "x = '''\nmodel = 1\n'''\nmodel = \"new\"\n"},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		write(t, path, c.before)
		if err := Set(t.Context(), path, "model", "new"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != c.after {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.after)
		}
	}
}

func TestSetMakesAPrivateFileThatLoads(t *testing.T) {
	p := newPlace(t)
	odd := `C:\models\"x" # ü`
	testkit.OK(t, Set(t.Context(), p.user, "model", odd))
	testkit.OK(t, Set(t.Context(), p.user, "orphans", "cascade"))
	c, err := Load(p.options(false))
	if err != nil || c.Model != odd || c.Orphans != "cascade" {
		t.Errorf("got %+v, %v", c, err)
	}
	for path, perm := range map[string]os.FileMode{p.user: 0o600, filepath.Dir(p.user): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestSetChangesNothingWhenItFails(t *testing.T) {
	for name, c := range map[string]struct{ before, key, value string }{
		"unknown key":  {"# x\n", "modle", "m"},
		"bad value":    {"# x\n", "color", "red"},
		"control":      {"# x\n", "model", "a\nb"},
		"not UTF-8":    {"# x\n", "model", "a\xff"},
		"no TOML":      {"model = \n", "model", "m"},
		"dotted":       {"model.x = 1\nmodel.y = 2\n", "model", "m"},
		"a used table": {"[model]\nx = 1\n", "model", "m"},
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		write(t, path, c.before)
		if err := Set(t.Context(), path, c.key, c.value); !fault.Is(err, fault.InvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != c.before {
			t.Errorf("%s: changed to %q", name, got)
		}
	}
	missing := filepath.Join(t.TempDir(), "x", "config.toml")
	if err := Set(t.Context(), missing, "color", "red"); !fault.Is(err, fault.InvalidConfig) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(missing)); err == nil {
		t.Error("a wrong value made a folder")
	}
}

func TestSetFollowsALinkAndKeepsTheMode(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "dotfiles", "ramet.toml"), filepath.Join(dir, "config.toml")
	write(t, target, "")
	testkit.OK(t, os.Chmod(target, 0o640))
	testkit.OK(t, os.Symlink(target, link))
	testkit.OK(t, Set(t.Context(), link, "model", "m"))
	info, err := os.Lstat(target)
	if got, _ := os.ReadFile(target); err != nil || info.Mode().Perm() != 0o640 || string(got) != "model = \"m\"\n" {
		t.Errorf("target %v %q", info, got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

func TestSettersDoNotLoseEachOthersValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	var all sync.WaitGroup
	for key, value := range map[string]string{"model": "m", "color": "never", "orphans": "cascade", "db": "d"} {
		all.Go(func() {
			if err := Set(t.Context(), path, key, value); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text := testkit.Must(readText(path))(t)
	entries, err := parseEntries(path, text)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestSetWaitsForTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	held := testkit.Must(durable.TryLock(path + ".lock"))(t)
	done := make(chan error)
	go func() { done <- Set(t.Context(), path, "model", "m") }()
	write(t, path, "# written under the lock\n")
	testkit.OK(t, held.Unlock())
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "# written under the lock\nmodel = \"m\"\n" {
		t.Errorf("got %q", got)
	}
}

// Whatever the file, an edit sets the key and only the key, or refuses.
func FuzzEdit(f *testing.F) {
	f.Add("model = 'a' # c\n[t]\nmodel = 1\n", "value")
	f.Add("x = \"\"\"\n[\nmodel = 1\"\"\"\n", `"\`)
	f.Add("model = {a = 1}", "")
	f.Fuzz(func(t *testing.T, text, value string) {
		s, err := lookupSetting("model")
		if err != nil || s.check(value) != nil {
			return
		}
		edited, err := editText("c", text, "model", value)
		if err != nil {
			if !fault.Is(err, fault.InvalidConfig) {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		before, err1 := parseEntries("c", text)
		after, err2 := parseEntries("c", edited)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		values := func(entries []entry) string {
			var b strings.Builder
			for _, e := range entries {
				if e.key != "model" {
					b.WriteString(e.key + "=" + e.text + "\n")
				}
			}
			return b.String()
		}
		if values(before) != values(after) {
			t.Errorf("%q became %q", text, edited)
		}
		again, err := editText("c", edited, "model", value)
		if err != nil || again != edited {
			t.Errorf("a second edit of %q gave %q, %v", edited, again, err)
		}
	})
}

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
