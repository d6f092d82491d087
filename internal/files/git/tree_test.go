package git

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestTheSameTreeGivesTheSameBundle(t *testing.T) {
	g := newGround(t)
	tree, base, bundle := g.tree()
	g.expect(tree.Dir, "b/ü x.txt", "b\n")
	g.absent(filepath.Join(tree.Dir, ".git"))
	if who := g.git(tree.Git, "log", "--format=%an <%ae> %ad %cn <%ce> %cd", "--date=raw", base); who != "ramet <ramet@localhost> 0 +0000 ramet <ramet@localhost> 0 +0000" {
		t.Error(who)
	}
	// Other history, other packing, other configuration of the user: the same bytes.
	g.save(g.dir, "second, of the same tree")
	g.git(g.dir, "gc", "-q")
	g.file(g.home, ".gitconfig", "[core]\n\tcompression = 0\n[pack]\n\tcompression = 0\n[user]\n\tname = other\n[commit]\n\tgpgSign = true\n")
	_, again, second := g.tree()
	one := testkit.Must(os.ReadFile(bundle))(t)
	two, err := os.ReadFile(second)
	if err != nil || again != base || !bytes.Equal(one, two) {
		t.Errorf("%s then %s; equal: %v, %v", base, again, bytes.Equal(one, two), err)
	}
	g.git(g.dir, "bundle", "verify", "-q", bundle)
	if err := FromBundle(t.Context(), bundle, strings.Repeat("0123456789", 4), tree); !fault.Is(err, fault.NotFound) {
		t.Errorf("a commit that it does not hold: %v", err)
	}
	if err := FromBundle(t.Context(), filepath.Join(g.dir, "a.txt"), base, Tree{Dir: t.TempDir()}); err == nil {
		t.Error("a text was unpacked")
	}
}

func TestAChangeGoesOverInAPatch(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, "gone.txt", "gone\n")
	g.file(g.dir, ".gitignore", "*.log\n")
	g.save(g.dir, "more")
	from, base, bundle := g.tree()
	if d := g.diff(from); d != "" {
		t.Errorf("a change from nothing: %q", d)
	}
	g.file(from.Dir, "a.txt", "one\nTWO\nthree\nfour\nfive\nsix\nseven\neight\n")
	g.file(from.Dir, "new/[x]*.md", "new\n")
	g.file(from.Dir, "binary", "\x00\x01\xff")
	g.file(from.Dir, "x.log", "ignored\n")
	testkit.OK(t, os.Remove(filepath.Join(from.Dir, "gone.txt")))
	patch := g.diff(from)
	// Neither the user's configuration nor her attributes change a byte of it.
	g.file(g.home, ".gitconfig", "[diff]\n\tnoprefix = true\n\tcontext = 0\n\tmnemonicPrefix = true\n\talgorithm = histogram\n[core]\n\tabbrev = 4\n\tautocrlf = true\n\tquotePath = false\n[color]\n\tui = always\n")
	g.file(g.home, ".config/git/attributes", "*.txt binary\n")
	g.file(g.home, ".config/git/ignore", "*.md\n")
	if again := g.diff(from); again != patch {
		t.Errorf("another patch:\n%s\n%s", patch, again)
	}
	changed, err := Changed(t.Context(), from, base)
	if err != nil || !slices.Equal(changed, []string{"a.txt", "binary", "gone.txt", "new/[x]*.md"}) {
		t.Errorf("%q, %v", changed, err)
	}

	to := Tree{Dir: filepath.Join(t.TempDir(), "tree"), Git: filepath.Join(t.TempDir(), "git")}
	testkit.OK(t, FromBundle(t.Context(), bundle, base, to))
	for range 2 { // once more is no conflict
		if conflicts, err := Apply(t.Context(), to, []byte(patch)); err != nil || len(conflicts) > 0 {
			t.Fatalf("%q, %v", conflicts, err)
		}
		if d := g.diff(to); d != patch {
			t.Fatalf("what was applied is\n%s", d)
		}
	}
	g.absent(filepath.Join(to.Dir, "gone.txt"))
	g.expect(to.Dir, "binary", "\x00\x01\xff")

	if exact, err := ApplyTo(t.Context(), from, base, []byte(patch)); err != nil {
		t.Error(err)
	} else if c, err := Commit(t.Context(), to, "a message\n\nKey: x", time.Unix(0, 0)); err != nil || g.git(to.Git, "rev-parse", c+"^{tree}") != exact || g.git(to.Git, "rev-parse", c+"^") != base {
		t.Errorf("commit %s of another tree than %s, %v", c, exact, err)
	} else if again, err := Commit(t.Context(), to, "a message", time.Unix(0, 0)); err != nil || again != c {
		t.Errorf("nothing to commit, and there is %s, %v", again, err)
	}
	if err := Reset(t.Context(), to, base); err != nil || g.diff(to) != "" {
		t.Errorf("after the reset: %v", err)
	}
	g.expect(to.Dir, "gone.txt", "gone\n")
	g.absent(filepath.Join(to.Dir, "new"))
}

func TestAConflictKeepsOneFileAndNotTheOthers(t *testing.T) {
	g := newGround(t)
	one, base, bundle := g.tree()
	two, _, _ := g.tree()
	g.file(one.Dir, "a.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n")
	g.file(one.Dir, "page.md", "by one\n")
	g.file(two.Dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n")
	g.file(two.Dir, "page.md", "by two\n")
	g.file(two.Dir, "zebra.md", "zebra\n")
	first, second := g.diff(one), g.diff(two)
	to := Tree{Dir: filepath.Join(t.TempDir(), "tree")} // with its repository inside
	testkit.OK(t, FromBundle(t.Context(), bundle, base, to))
	for _, c := range []struct {
		patch string
		want  []string
	}{{first, nil}, {second, []string{"page.md"}}, {second, []string{"page.md"}}, {first, nil}} {
		got, err := Apply(t.Context(), to, []byte(c.patch))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("conflicts %q, want %q; %v", got, c.want, err)
		}
		if unmerged, err := to.Run(t.Context(), "ls-files", "-u"); err != nil || unmerged != "" {
			t.Errorf("left: %s, %v", unmerged, err)
		}
	}
	g.expect(to.Dir, "a.txt", "ONE\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\n")
	g.expect(to.Dir, "page.md", "by one\n")
	g.expect(to.Dir, "zebra.md", "zebra\n")
	if _, err := ApplyTo(t.Context(), to, base, []byte(strings.ReplaceAll(second, " seven", " seventeen"))); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

func TestPatchesFromOutside(t *testing.T) {
	g := newGround(t)
	tree, base, _ := g.tree()
	outside := filepath.Join(filepath.Dir(tree.Dir), "outside")
	file := func(path string) string {
		return "diff --git a/" + path + " b/" + path + "\nnew file mode 100644\nindex " + strings.Repeat("0", 40) + ".." + strings.Repeat("1", 40) +
			"\n--- /dev/null\n+++ b/" + path + "\n@@ -0,0 +1 @@\n+x\n"
	}
	for _, bad := range []string{"not a patch", "diff --git a/x b/x\n", strings.TrimSuffix(file("c.txt"), "+x\n")} {
		if _, err := Apply(t.Context(), tree, []byte(bad)); !fault.Is(err, fault.InvalidText) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{file("../outside"), file(".git/config"), file("b/../../outside"), file("/tmp/outside"), file(".GIT/config")} {
		conflicts, err := Apply(t.Context(), tree, []byte(bad))
		if err == nil && len(conflicts) == 0 {
			t.Errorf("it was taken: %s", bad)
		}
	}
	g.absent(outside)
	// A link in a patch is a plain file here, so that nothing is written through it.
	link := strings.Replace(strings.Replace(file("link"), "100644", "120000", 1), "+x\n", "+"+filepath.Dir(outside)+"\n\\ No newline at end of file\n", 1)
	if conflicts, err := Apply(t.Context(), tree, []byte(link)); err != nil || len(conflicts) > 0 {
		t.Fatal(conflicts, err)
	}
	if info, err := os.Lstat(filepath.Join(tree.Dir, "link")); err != nil || !info.Mode().IsRegular() {
		t.Error("there is a link", err)
	}
	testkit.OK(t, Reset(t.Context(), tree, base))
	if d := g.diff(tree); d != "" {
		t.Error(d)
	}
}

// Somebody who may write into the tree must not be able to make our git run something.
func TestNothingThatAWorkerLeavesIsRun(t *testing.T) {
	g := newGround(t)
	sub := filepath.Join(t.TempDir(), "sub")
	g.file(sub, "s.txt", "s\n")
	g.git(sub, "init", "-q")
	g.save(sub, "sub")
	g.git(g.dir, "submodule", "--quiet", "add", sub, "sub")
	g.save(g.dir, "with a submodule")
	tree, base, _ := g.tree()

	ran := filepath.Join(t.TempDir(), "ran")
	evil := "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch " + ran + ";\n[filter \"evil\"]\n\tclean = touch " + ran + "; cat\n\tsmudge = touch " + ran + "; cat\n\trequired = true\n" +
		"[diff \"evil\"]\n\tcommand = touch " + ran + "\n\ttextconv = touch " + ran + "; cat\n"
	g.git(tree.Dir, "clone", "-q", sub, filepath.Join(tree.Dir, "sub"))
	g.file(tree.Dir, "sub/.git/config", evil)
	g.file(tree.Dir, "sub/s.txt", "changed\n")
	g.git(tree.Dir, "init", "-q")
	g.file(tree.Dir, ".git/config", evil)
	g.git(tree.Dir, "init", "-q", "nested")
	g.file(tree.Dir, "nested/n.txt", "n\n")
	g.file(tree.Dir, ".gitattributes", "* filter=evil diff=evil merge=evil text eol=crlf\n")
	g.file(tree.Dir, "a.txt", "changed\n")
	testkit.OK(t, os.Symlink(filepath.Dir(tree.Dir), filepath.Join(tree.Dir, "up")))
	testkit.OK(t, os.RemoveAll(filepath.Join(tree.Dir, "b")))
	testkit.OK(t, os.Symlink(g.dir+"/b", filepath.Join(tree.Dir, "b")))
	_, err := Diff(t.Context(), tree)
	refuse(t, err, fault.OutputInvalid, "nested/")
	testkit.OK(t, os.RemoveAll(filepath.Join(tree.Dir, "nested")))
	changed, err := Changed(t.Context(), tree, base)
	if err != nil || !slices.Equal(changed, []string{".gitattributes", "a.txt", "b", "b/ü x.txt", "up"}) {
		t.Errorf("%q, %v", changed, err)
	}
	if d := g.diff(tree); !strings.Contains(d, "+changed\n") || !strings.Contains(d, "new file mode 120000") {
		t.Error(d)
	}
	if d, err := Diff(t.Context(), tree, "a.txt", "up"); err != nil || strings.Contains(string(d), "+changed\n") || strings.Contains(string(d), " b/up") || !strings.Contains(string(d), ".gitattributes") {
		t.Errorf("%s, %v", d, err)
	}
	testkit.Must(Commit(t.Context(), tree, "x", time.Unix(1, 0)))(t)
	testkit.OK(t, Reset(t.Context(), tree, base))
	g.expect(tree.Dir, "b/ü x.txt", "b\n")
	g.expect(g.dir, "b/ü x.txt", "b\n")
	g.absent(ran)
}

func TestFilesHaveTheBytesOfTheirBlobs(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, "dos.txt", "a\r\nb\r\n")
	g.save(g.dir, "dos")
	g.file(g.dir, ".gitattributes", "*.txt text eol=crlf ident working-tree-encoding=UTF-16\n*.bin filter=lfs\n")
	g.file(g.dir, "p.bin", "version https://git-lfs\n")
	testkit.OK(t, os.Symlink("/etc/hostname", filepath.Join(g.dir, "link")))
	ran := filepath.Join(t.TempDir(), "ran")
	g.git(g.dir, "-c", "core.attributesFile=/dev/null", "update-index", "--add", ".gitattributes", "p.bin", "link")
	g.git(g.dir, "commit", "-q", "-m", "attributes")
	g.file(g.home, ".gitconfig", "[filter \"lfs\"]\n\tsmudge = touch "+ran+"; cat\n\tclean = touch "+ran+"; cat\n\trequired = true\n[core]\n\tautocrlf = true\n")
	tree, _, _ := g.tree()
	g.expect(tree.Dir, "dos.txt", "a\r\nb\r\n")
	g.expect(tree.Dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n")
	g.expect(tree.Dir, "p.bin", "version https://git-lfs\n")
	g.expect(tree.Dir, "link", "/etc/hostname")
	if d := g.diff(tree); d != "" {
		t.Error(d)
	}
	g.absent(ran)
}
