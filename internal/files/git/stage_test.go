package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// ground is a repository of a user with one commit.
type ground struct {
	t    *testing.T
	dir  string
	home string
}

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{t: t, home: t.TempDir(), dir: filepath.Join(t.TempDir(), "pro ject")}
	t.Setenv("HOME", g.home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g.file(g.dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n")
	g.file(g.dir, "b/ü x.txt", "b\n")
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
	g.git(dir, "commit", "-q", "--allow-empty", "-m", message)
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

// absent says that there is nothing.
func (g *ground) absent(path string) {
	g.t.Helper()
	if _, err := os.Lstat(path); err == nil {
		g.t.Errorf("there is something at %s", path)
	}
}

func (g *ground) at(address string) Remote {
	g.t.Helper()
	r := testkit.Must(Locate(address))(g.t)
	return r
}

// tree is a bundle of the repository's commit, unpacked with its repository elsewhere.
func (g *ground) tree() (t Tree, base, bundle string) {
	g.t.Helper()
	place := g.t.TempDir()
	bundle = filepath.Join(place, "base.bundle")
	base = testkit.Must(Bundle(g.t.Context(), Tree{Dir: g.dir}, g.git(g.dir, "rev-parse", "HEAD"), bundle))(g.t)
	t = Tree{Dir: filepath.Join(place, "tree"), Git: filepath.Join(place, "repo")}
	testkit.OK(g.t, FromBundle(g.t.Context(), bundle, base, t))
	return t, base, bundle
}

func (g *ground) diff(t Tree) string {
	g.t.Helper()
	out := testkit.Must(Diff(g.t.Context(), t))(g.t)
	return string(out)
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
