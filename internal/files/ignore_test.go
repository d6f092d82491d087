package files

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// kept is what a walk finds, as the rules have it.
func keptFiles(t *testing.T, root string, env []string) []string {
	t.Helper()
	var found []string
	var walk func(dir, rel string, f IgnoreFolder)
	walk = func(dir, rel string, f IgnoreFolder) {
		entries := testkit.Must(os.ReadDir(dir))(t)
		for _, e := range entries {
			if e.Name() == ".git" || f.Ignores(e.Name(), e.IsDir()) {
				continue
			}
			sub := filepath.Join(dir, e.Name())
			if !e.IsDir() {
				found = append(found, filepath.ToSlash(filepath.Join(rel, e.Name())))
				continue
			}
			has := func(n string) bool { _, err := os.Lstat(filepath.Join(sub, n)); return err == nil }
			walk(sub, filepath.Join(rel, e.Name()), f.Enter(e.Name(), has, func(n string) []byte { return readFile(filepath.Join(sub, n)) }))
		}
	}
	walk(root, "", TopIgnore(root, env))
	slices.Sort(found)
	return found
}

func put(t *testing.T, root string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(root, files[i])
		testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.OK(t, os.WriteFile(name, []byte(files[i+1]), 0o644))
	}
}

func gitIgnore(t *testing.T, dir string, env []string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}, env...)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(args, err)
	}
	var names []string
	for name := range bytes.SplitSeq(text, []byte{0}) {
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

func newRepo(t *testing.T) (root string, env []string) {
	t.Helper()
	home := t.TempDir()
	root = t.TempDir()
	env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "c")}
	gitIgnore(t, root, env, "init", "-q")
	return root, env
}

func TestWhatGitDoesNotIgnoreIsKept(t *testing.T) {
	root, env := newRepo(t)
	home := strings.TrimPrefix(env[0], "HOME=")
	put(t, home, ".gitconfig", "[core]\n\texcludesFile = ~/mine\n", "mine", "*.swp\n")
	put(t, root, ".gitignore", "node_modules\n*.log\n!keep.log\n/top\nbuild/\ndocs/*.html\n# no\n\\#odd\nsp\\ \n{a,b}.txt\nx/**/y\ndeep/**\n",
		"node_modules/a/index.js", "", "src/node_modules/b.js", "", "a.log", "", "keep.log", "", "src/keep.log", "",
		"top", "", "src/top", "", "build/x", "", "src/build", "a file of that name", "docs/a.html", "", "docs/in/a.html", "", "#odd", "", "sp ", "",
		"a.txt", "", "{a,b}.txt", "", "x/y", "", "x/1/y", "", "x/1/2/y/z", "", "deep/a/b", "", "deeper", "",
		"src/.gitignore", "!*.log\nlocal\n", "src/b.log", "", "src/local", "", "local", "", "src/in/local", "", "a.swp", "",
		".git/info/exclude", "*.bak\n", "src/c.bak", "", "c.bak2", "")
	want := gitIgnore(t, root, env, "ls-files", "-coz", "--exclude-standard")
	if got := keptFiles(t, root, env); !slices.Equal(got, want) {
		t.Errorf("kept %q\ngit  %q", got, want)
	}
	if len(want) < 10 || slices.Contains(want, "a.log") {
		t.Fatal(want)
	}
	// From a folder below, the rules above still hold.
	var below []string
	for _, name := range want {
		if rest, ok := strings.CutPrefix(name, "src/"); ok {
			below = append(below, rest)
		}
	}
	if got := keptFiles(t, filepath.Join(root, "src"), env); !slices.Equal(got, below) {
		t.Errorf("kept %q, want %q", got, below)
	}
}

// Random rules in random trees: git says the same.
func TestRandomRulesMeanWhatTheyMeanToGit(t *testing.T) {
	root, env := newRepo(t)
	names := []string{"a", "b", "ab", "a.go", "b.txt", "c d"}
	pieces := []string{"a", "b", "*", "?", "ab", "*.go", "a*", "**", "[ab]", "[!a]", "c d", "*.t?t", "{a,b}"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		pick := func(from []string) string { return from[r.IntN(len(from))] }
		testkit.OK(t, os.RemoveAll(filepath.Join(root, "t")))
		top := filepath.Join(root, "t")
		for range 25 {
			dir := top
			for range r.IntN(3) {
				dir = filepath.Join(dir, "d"+pick(names[:3]))
			}
			put(t, dir, pick(names), "")
		}
		var rules []string
		for _, at := range []string{".", "da"} {
			var lines []string
			for range 1 + r.IntN(4) {
				line := pick(pieces)
				for range r.IntN(3) {
					line += "/" + pick([]string{"d" + pick(pieces[:3]), pick(pieces)})
				}
				if r.IntN(4) == 0 {
					line = "/" + line
				}
				if r.IntN(4) == 0 {
					line += "/"
				}
				if r.IntN(3) == 0 {
					line = "!" + line
				}
				lines = append(lines, line)
			}
			put(t, filepath.Join(top, at), ".gitignore", strings.Join(lines, "\n")+"\n")
			rules = append(rules, lines...)
		}
		want := gitIgnore(t, top, env, "ls-files", "-coz", "--exclude-standard")
		if got := keptFiles(t, top, env); !slices.Equal(got, want) {
			t.Fatalf("seed %d: rules %q\nkept %q\ngit  %q", seed, rules, got, want)
		}
	}
}

func TestOtherFilesOfRules(t *testing.T) {
	root := t.TempDir()
	put(t, root, ".gitignore", "*.a\n*.b\n", ".ignore", "!x.a\n*.c\n", ".rgignore", "!x.c\n", "x.a", "", "y.a", "", "x.b", "", "x.c", "", "y.c", "",
		"in/.git/HEAD", "", "in/.gitignore", "n\n", "in/x.b", "another repository", "in/y.c", "", "in/n", "")
	want := []string{".gitignore", ".ignore", ".rgignore", "in/.gitignore", "in/x.b", "x.a", "x.c"}
	if got := keptFiles(t, root, nil); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*.go\n!a\n/b/\n", "a/b.go")
	f.Fuzz(func(t *testing.T, rules, path string) {
		judge(parse([]byte(rules)), path, true)
	})
}
