package local

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramet/internal/turn/tool"
)

// With ripgrep and without, answers are the same: over trees with rules of every kind, nested
// repositories, binaries, links, odd names and bytes that are no UTF-8.
func TestRipgrepChangesNoAnswer(t *testing.T) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	tools := func(root string, env []string) *Local {
		l, err := New(Options{Root: root, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if tools(realTemp(t), env).ripgrep() == "" {
		t.Skip("ripgrep is not installed: there is nothing to compare")
	}
	used := 0
	for seed := range uint64(8) {
		root := realTemp(t)
		plant(t, root, rand.New(rand.NewPCG(seed, 99)))
		with, without := tools(root, env), tools(root, env[1:])
		for _, args := range []map[string]any{
			{"pattern": "needle"}, {"pattern": "needle [0-9]+"}, {"pattern": "n.*needle"}, {"pattern": "needle", "ignore_case": true}, {"pattern": `needle\nneedle`},
			{"pattern": "needle", "mode": "count"}, {"pattern": "needle", "mode": "files", "include": "*.go"}, {"pattern": "needle", "exclude": "d*/**"}, {"pattern": "needle", "path": "da"},
			{"pattern": "nee|dle"}, {"pattern": "nothing of this"}, {"pattern": "needle", "context": 1}, {"pattern": "-needle"}, {"pattern": "needle", "path": "."},
		} {
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			answer := func(l *Local) tool.Answer {
				a, err := l.grep().Run(t.Context(), tool.Call{Args: raw, Output: func([]byte) {}})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			if a, b := answer(with), answer(without); a != b {
				t.Fatalf("seed %d, %s: with ripgrep\n%s\nwithout\n%s", seed, raw, a.Text, b.Text)
			}
			m, err := newMatcher(args["pattern"].(string), false, false)
			if err != nil {
				t.Fatal(err)
			}
			start, _ := args["path"].(string)
			if _, ok := with.candidates(t.Context(), start, m); ok {
				used++
			}
		}
	}
	if used < 20 {
		t.Errorf("ripgrep was used %d times", used)
	}
}

// A program of that name in the workspace is not run.
func TestRipgrepOfTheWorkspaceIsNotTaken(t *testing.T) {
	root := realTemp(t)
	if err := os.WriteFile(filepath.Join(root, "rg"), []byte("#!/bin/sh\ntouch ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{root, ".", ""} {
		l, err := New(Options{Root: root, Env: []string{"PATH=" + path}})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.ripgrep(); got != "" {
			t.Errorf("%q: %s", path, got)
		}
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// plant makes a tree.
func plant(t *testing.T, root string, r *rand.Rand) {
	t.Helper()
	put := func(name, body string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bodies := []string{"a needle 17\nand more\n", "no such thing\n", "x\x00needle\n", strings.Repeat("y", 9000) + "\x00needle 3\n", "\xff\xfe needle \xf0\n", "\xef\xbb\xbfneedle 4\r\nneedle 5\r\n",
		"Needle NEEDLE needle\nneedle\n", "-needle\n", "n\x00e\x00e\x00d\x00", "needle without an end"}
	names := []string{"a.go", "b.txt", "c d.go", "é.go", ".hidden", "-dash.go", "new\nline.go"}
	dirs := []string{"", "da", "db", "da/in", "node_modules/x", ".dot", "sub"}
	for range 40 {
		put(filepath.Join(dirs[r.IntN(len(dirs))], names[r.IntN(len(names))]), bodies[r.IntN(len(bodies))])
	}
	put("da/always.md", "needle\n")
	rules := []string{"node_modules", "*.txt", "!b.txt", "/da", "db/", "*.go", "!a.go", "da/**", ".hidden", "in", "!da/in/", "[ab].*"}
	some := func() string {
		var out []string
		for range r.IntN(4) {
			out = append(out, rules[r.IntN(len(rules))])
		}
		return strings.Join(out, "\n") + "\n"
	}
	if r.IntN(2) == 0 {
		put(".git/HEAD", "ref: refs/heads/main\n")
		put(".git/info/exclude", some())
	}
	for _, name := range []string{".gitignore", ".ignore", ".rgignore", "da/.gitignore", "db/.ignore"} {
		if r.IntN(2) == 0 {
			put(name, some())
		}
	}
	if r.IntN(3) == 0 {
		put("sub/.git/HEAD", "ref: refs/heads/main\n")
		put("sub/.gitignore", some())
	}
	for link, to := range map[string]string{"link.go": "a.go", "db2": "db", "out": "/etc/hostname"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
}
