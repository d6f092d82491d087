package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestACloneStandsOnItsCommit(t *testing.T) {
	g := newGround(t)
	first := g.git(g.dir, "rev-parse", "HEAD")
	g.file(g.dir, "a.txt", "second\n")
	second := g.save(g.dir, "second")
	g.file(g.dir, "a.txt", "not committed\n")
	dir := filepath.Join(t.TempDir(), "work", "repo")
	from := g.at(g.dir)

	c, err := Clone(t.Context(), from, dir, "")
	if err != nil || c.Commit != second || c.Branch != "main" || !c.Dirty {
		t.Fatalf("%+v, %v", c, err)
	}
	g.expect(dir, "a.txt", "second\n")

	// Once more: nothing is done.
	before := testkit.Must(os.Stat(filepath.Join(dir, ".git", "config")))(t)
	if c, err = Clone(t.Context(), from, dir, second); err != nil || c.Commit != second {
		t.Fatalf("%+v, %v", c, err)
	}
	if after, err := os.Stat(filepath.Join(dir, ".git", "config")); err != nil || !os.SameFile(before, after) {
		t.Error("it was made again", err)
	}
	// Files that were changed are put right, without the source.
	g.file(dir, "a.txt", "spoilt\n")
	g.file(dir, "more", "more\n")
	testkit.Must(Clone(t.Context(), from, dir, second))(t)
	g.expect(dir, "a.txt", "second\n")
	g.absent(filepath.Join(dir, "more"))
	// Half made, without its repository, or on another commit: made again.
	for _, spoil := range []func(){
		func() { os.RemoveAll(filepath.Join(dir, ".git", "objects")) },
		func() { os.RemoveAll(filepath.Join(dir, ".git")) },
		func() { os.RemoveAll(dir); g.file(dir+".part", "half", "half") },
	} {
		spoil()
		if c, err = Clone(t.Context(), from, dir, first); err != nil || c.Commit != first {
			t.Fatalf("%+v, %v", c, err)
		}
		g.expect(dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n")
		g.absent(dir + ".part")
		g.absent(filepath.Join(dir, "half"))
	}
	if out := g.git(dir, "config", "--list", "--local"); strings.Contains(out, g.dir) {
		t.Error("the clone remembers where it came from:", out)
	}
}

func TestSourcesOfEveryKind(t *testing.T) {
	g := newGround(t)
	commit := g.git(g.dir, "rev-parse", "HEAD")
	clone := func(from string, commit string) (Cloned, error) {
		return Clone(t.Context(), g.at(from), filepath.Join(t.TempDir(), "repo"), commit)
	}
	bare := filepath.Join(t.TempDir(), "bare.git")
	g.git(g.dir, "clone", "-q", "--bare", g.dir, bare)
	if c, err := clone(bare, ""); err != nil || c.Commit != commit || c.Dirty {
		t.Errorf("bare: %+v, %v", c, err)
	}
	if c, err := clone("file://"+bare, ""); err != nil || c.Commit != commit {
		t.Errorf("file URL: %+v, %v", c, err)
	}
	g.git(g.dir, "checkout", "-q", "--detach")
	detached := g.save(g.dir, "on no branch")
	if c, err := clone(g.dir, ""); err != nil || c.Commit != detached || c.Branch != "" {
		t.Errorf("detached: %+v, %v", c, err)
	}
	worktree := filepath.Join(t.TempDir(), "tree")
	g.git(g.dir, "worktree", "add", "-q", worktree, "main")
	if c, err := clone(worktree, ""); err != nil || c.Commit != commit || c.Branch != "main" {
		t.Errorf("worktree: %+v, %v", c, err)
	}
	shallow := filepath.Join(t.TempDir(), "shallow")
	g.git(g.dir, "clone", "-q", "--depth=1", "file://"+g.dir, shallow)
	if c, err := clone(shallow, ""); err != nil || c.Commit != detached {
		t.Errorf("shallow: %+v, %v", c, err)
	}
	dir := filepath.Join(t.TempDir(), "sha256")
	g.file(dir, "x", "x\n")
	g.git(dir, "init", "-q", "--object-format=sha256")
	long := g.save(dir, "x")
	if c, err := clone(dir, ""); err != nil || c.Commit != long || len(long) != 64 {
		t.Errorf("sha256: %+v, %v", c, err)
	}

	empty := filepath.Join(t.TempDir(), "empty")
	g.git(g.dir, "init", "-q", empty)
	_, err := clone(empty, "")
	refuse(t, err, fault.Conflict, "empty", "commit something")
	_, err = clone(filepath.Join(t.TempDir(), "nowhere"), "")
	refuse(t, err, fault.NotFound, "no repository")
	_, err = clone(t.TempDir(), "")
	refuse(t, err, fault.NotFound, "not a git repository")
	_, err = clone(filepath.Join(g.dir, "a.txt"), "")
	refuse(t, err, fault.NotFound, "file")
	_, err = clone(filepath.Join(g.dir, "b"), "")
	refuse(t, err, fault.NotFound)
	_, err = clone(g.dir, strings.Repeat("1", 40))
	refuse(t, err, fault.NotFound, "has no commit")
	_, err = clone(g.dir, "main")
	refuse(t, err, fault.InvalidID)
	partial := filepath.Join(t.TempDir(), "partial")
	g.git(bare, "config", "uploadpack.allowFilter", "true")
	g.git(g.dir, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+bare, partial)
	_, err = clone(partial, "")
	refuse(t, err, fault.Conflict, "partial clone")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir = filepath.Join(t.TempDir(), "repo")
	_, err = Clone(ctx, g.at(g.dir), dir, "")
	refuse(t, err, fault.Cancelled)
	g.absent(dir)
}

func TestCloningRunsNothing(t *testing.T) {
	g := newGround(t)
	ran := filepath.Join(t.TempDir(), "ran")
	sub := filepath.Join(t.TempDir(), "sub")
	g.file(sub, "s", "s\n")
	g.git(sub, "init", "-q")
	g.save(sub, "sub")
	g.git(g.dir, "submodule", "--quiet", "add", sub, "deep/sub")
	g.file(g.dir, ".gitattributes", "*.txt filter=evil filter=e=vil\n")
	commit := g.save(g.dir, "with a submodule")
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "pre-push", "post-index-change"} {
		g.file(g.dir, ".git/hooks/"+hook, "#!/bin/sh\ntouch "+ran+"\n")
		testkit.OK(t, os.Chmod(filepath.Join(g.dir, ".git/hooks", hook), 0o700))
	}
	g.git(g.dir, "config", "filter.evil.clean", "touch "+ran+"; cat")
	g.git(g.dir, "config", "filter.e=vil.clean", "touch "+ran+"; cat")
	g.git(g.dir, "config", "filter.evil.required", "true")
	g.git(g.dir, "config", "core.fsmonitor", "touch "+ran)
	g.git(g.dir, "config", "uploadpack.packObjectsHook", "touch "+ran)
	g.file(g.dir, "a.txt", "changed, of another length\n")
	dir := filepath.Join(t.TempDir(), "repo")
	c, err := Clone(t.Context(), g.at(g.dir), dir, "")
	if err != nil || c.Commit != commit || !c.Dirty || !slices.Equal(c.Submodules, []string{"deep/sub"}) {
		t.Errorf("%+v, %v", c, err)
	}
	g.absent(filepath.Join(dir, "deep/sub/s"))
	g.absent(ran)
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ in, scheme, host, path string }{
		{"https://github.com/o/r.git", "https", "github.com", "o/r.git"},
		{"https://user@Dev.Azure.com/o/r/", "https", "dev.azure.com", "o/r"},
		{"http://127.0.0.1:80/o/r", "http", "127.0.0.1:80", "o/r"},
		{"ssh://git@host:22/o/r.git", "ssh", "host:22", "o/r.git"},
		{"git@github.com:o/r.git", "ssh", "github.com", "o/r.git"},
		{"github.com:o/r", "ssh", "github.com", "o/r"},
		{"git://host/r", "git", "host", "r"},
	} {
		r, err := Locate(c.in)
		if err != nil || r.Scheme() != c.scheme || r.Host() != c.host || r.Path() != c.path || r.Local() || r.String() != c.in {
			t.Errorf("%s: %#v %s %s %s, %v", c.in, r, r.Scheme(), r.Host(), r.Path(), err)
		}
	}
	for _, bad := range []string{"", "-upload-pack=x", "--x", "ext::sh -c x", "fd::17", "transport::http://x", "https://u:sesame@host/r", "https://ghp_sesame@host/r",
		"ssh://-oProxyCommand=x/r", "ssh://-x@host/r", "-x@host:r", "host:-r", "ftp://host/r", "EXT://x", "javascript://x", "https://", "https:///r", "https://host", "https://host/r?x=1",
		"file://host/r", "a\nb", "https://host/\x00", "https://[x/r"} {
		r, err := Locate(bad)
		if err == nil {
			t.Errorf("%q is taken as %s %s", bad, r.Scheme(), r)
		} else if !fault.Is(err, fault.Usage) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{"ext::sh", "host:x"} { // a folder of such a name is a folder
		testkit.OK(t, os.Mkdir(name, 0o700))
		if r, err := Locate(name); err != nil || !r.Local() || !filepath.IsAbs(r.String()) {
			t.Errorf("%s: %s, %v", name, r, err)
		}
	}
}

func FuzzLocate(f *testing.F) {
	for _, s := range []string{"https://h/o/r", "git@h:o/r", "ext::x", "-x", "ssh://h:22/x", "C:\\x", "file:///x", "[::1]:x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Locate(s)
		if err != nil {
			if !fault.Is(err, fault.Usage) {
				t.Error(err)
			}
			return
		}
		if strings.HasPrefix(r.String(), "-") || !r.Local() && (strings.HasPrefix(r.Host(), "-") || r.Host() == "" || r.Path() == "" || strings.Contains(r.Host(), "::") && !strings.HasPrefix(r.Host(), "[")) {
			t.Errorf("%q is %#v", s, r)
		}
	})
}
