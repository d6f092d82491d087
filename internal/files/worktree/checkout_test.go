package worktree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/files"
	"ramet/internal/testkit"
)

// A checkout that shares files with the parent's folder is the one that git would make, whatever
// stands in that folder, and whatever happens to a file meanwhile.
func TestASharedCheckoutIsWhatGitMakes(t *testing.T) {
	g := newGround(t)
	g.file(g.dir, ".gitattributes", "*.crlf text eol=crlf\n")
	g.file(g.dir, "lines.crlf", "one\r\ntwo\r\n")
	g.file(g.dir, "sub/deep/large", strings.Repeat("large ", 100_000))
	g.file(g.dir, "run.sh", "#!/bin/sh\n")
	g.file(g.dir, "touched", "as committed\n")
	g.file(g.dir, "staged", "as committed\n")
	g.file(g.dir, "gone", "as committed\n")
	g.file(g.dir, "folder/in", "as committed\n")
	g.file(g.dir, "moved", "as committed\n")
	g.file(g.dir, "a \xff\n name", "odd\n")
	testkit.OK(t, errors.Join(os.Chmod(filepath.Join(g.dir, "run.sh"), 0o755),
		os.Symlink("a.txt", filepath.Join(g.dir, "link"))))
	g.save(g.dir, "all kinds")
	g.file(g.dir, "touched", "changed\n")
	g.file(g.dir, "staged", "changed\n")
	g.git(g.dir, "add", "staged")
	g.file(g.dir, "new", "untracked\n")
	testkit.OK(t, errors.Join(os.Remove(filepath.Join(g.dir, "gone")),
		os.RemoveAll(filepath.Join(g.dir, "folder")),
		os.Symlink("sub", filepath.Join(g.dir, "folder"))))

	g.k.Clone = func(*os.Root, string, fs.FileMode, *os.File) error { return files.ErrCannotClone }
	plain := g.make("plain")
	shared := map[string]bool{}
	g.k.Clone = func(dir *os.Root, name string, perm fs.FileMode, src *os.File) error {
		shared[name] = true
		dst, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			return err
		}
		if name == "moved" { // somebody changed it after git was asked
			dst.WriteString("something else\n")
			return dst.Close()
		}
		if _, err := io.Copy(dst, src); err != nil {
			return err
		}
		return dst.Close()
	}
	tree := g.make("shared")
	for name, want := range map[string]bool{"a.txt": true, "sub/deep/large": true, "run.sh": true, "lines.crlf": true, "moved": true, "a \xff\n name": true,
		"touched": false, "staged": false, "gone": false, "folder/in": false, "new": false, "link": false} {
		if shared[name] != want {
			t.Errorf("shared %q: %t", name, shared[name])
		}
	}
	if a, b := whole(t, plain.Dir), whole(t, tree.Dir); a != b {
		t.Errorf("git makes\n%s\nshared it is\n%s", a, b)
	}
	if out := g.git(tree.Dir, "status", "--porcelain"); out != "" {
		t.Errorf("something differs from the commit:\n%s", out)
	}
}

// Where nothing can be shared that is found out once, and everything is as before.
func TestNothingIsSharedWhereItCannotBe(t *testing.T) {
	g := newGround(t)
	tries := 0
	g.k.Clone = func(*os.Root, string, fs.FileMode, *os.File) error { tries++; return files.ErrCannotClone }
	tree := g.make("child")
	g.expect(tree.Dir, "a.txt", "a\n")
	g.expect(tree.Dir, "b.txt", "b\n")
	if tries != 1 {
		t.Errorf("%d tries", tries)
	}
}

// whole is everything below a folder, but for git's own file.
func whole(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	testkit.OK(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(dir, ".git") {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		text := []byte(nil)
		switch {
		case info.Mode().IsRegular():
			text, err = os.ReadFile(path)
		case info.Mode()&fs.ModeSymlink != 0:
			var target string
			target, err = os.Readlink(path)
			text = []byte(target)
		}
		b.WriteString(info.Mode().String() + " " + name + " " + string(text[:min(len(text), 40)]) + "\n")
		return err
	}))
	return b.String()
}
