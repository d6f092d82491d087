package local

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramet/internal/tool"
)

// BenchmarkGrepBesideGit searches the same 100,000 files as git grep does, taking turns:
// for a word that is rare, in one that has no plain text, and by name.
func BenchmarkGrepBesideGit(b *testing.B) {
	if _, err := exec.LookPath("git"); err != nil {
		b.Skip("no git")
	}
	const files = 100_000
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("func work(ctx context.Context) error { return nil } // some line of a program\n", 20)
	for i := range files {
		dir := filepath.Join(root, fmt.Sprintf("d%02d/e%02d", i%40, i/40%25))
		if i < 1000 {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		text := body
		if i%1000 == 0 {
			text += "the needle number 17\n"
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			b.Fatal(args, err)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", ".")
	made, err := New(Options{Root: root, Env: os.Environ()})
	if err != nil {
		b.Fatal(err)
	}
	for _, pattern := range []string{"needle number", "needle|nadel", "n[e]+dle [a-z]+ [0-9]"} {
		b.Run(pattern, func(b *testing.B) {
			args, err := json.Marshal(grepArgsFor(pattern))
			if err != nil {
				b.Fatal(err)
			}
			ours := func() {
				answer, err := made.grep().Run(b.Context(), tool.Call{Args: args, Output: func([]byte) {}})
				if err != nil || !strings.HasPrefix(answer.Show, "100 lines in 100 files") {
					b.Fatal(answer, err)
				}
			}
			theirs := func() {
				if n := strings.Count(git("grep", "-n", "-E", pattern), "\n"); n != 100 {
					b.Fatal(n)
				}
			}
			ours()
			theirs()
			var us, them time.Duration
			for b.Loop() {
				at := time.Now()
				ours()
				us += time.Since(at)
				at = time.Now()
				theirs()
				them += time.Since(at)
			}
			b.ReportMetric(us.Seconds()/float64(b.N), "s-ours")
			b.ReportMetric(them.Seconds()/float64(b.N), "s-git")
			b.ReportMetric(us.Seconds()/them.Seconds(), "ours/git")
		})
	}
}

func grepArgsFor(pattern string) map[string]any { return map[string]any{"pattern": pattern} }
