package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/tools/local"
	"ramet/internal/turn/tool"
)

// Searches of 100,000 files take no second, and stand beside git grep on the same files: with
// a rare word, an alternative, an expression that begins with no plain text, and by name.
func BenchmarkSearch(b *testing.B) {
	if _, err := exec.LookPath("git"); err != nil {
		b.Skip("there is no git")
	}
	files := scaled(100_000)
	root := forest(b, files)
	git := func(args ...string) string {
		out, err := exec.CommandContext(b.Context(), "git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			b.Fatal(args, err)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", ".")
	want := (files + 999) / 1000
	made, err := local.New(local.Options{Root: root, Env: []string{"HOME=" + root}})
	check(b, err)
	box := made.Tools()
	run := func(name string, args map[string]any, want string) {
		raw := must[[]byte](b)(json.Marshal(args))
		for _, t := range box {
			if t.Spec().Name != name {
				continue
			}
			a, err := t.Run(b.Context(), tool.Call{Args: raw, Output: func([]byte) {}})
			if err != nil || !strings.HasPrefix(a.Show, want) {
				b.Fatal(a, err)
			}
		}
	}
	for _, pattern := range []string{"needle number", "needle|nadel", "n[e]+dle [a-z]+ [0-9]"} {
		b.Run(pattern, func(b *testing.B) {
			ours := func() {
				run("grep", map[string]any{"pattern": pattern}, fmt.Sprintf("%d line", want))
			}
			theirs := func() {
				if n := strings.Count(git("grep", "-n", "-E", pattern), "\n"); n != want {
					b.Fatal(n)
				}
			}
			ours()
			theirs()
			var us, them times
			var ourCPU, theirCPU time.Duration
			for b.Loop() {
				ourCPU += processor(func() { us.of(ours) })
				theirCPU += processor(func() { them.of(theirs) })
			}
			atMost(b, fmt.Sprintf("grep %q in 100,000 files", pattern), "s", us.at(0.5)/1e9, 1)
			shown(b, fmt.Sprintf("grep %q / git grep", pattern), "", us.at(0.5)/them.at(0.5))
			// A machine with other work makes both slow; the processor's time it leaves alone.
			shown(b, fmt.Sprintf("grep %q / git grep, processor", pattern), "", float64(ourCPU)/float64(theirCPU))
			shown(b, fmt.Sprintf("grep %q, processor over cores", pattern), "s", ourCPU.Seconds()/float64(b.N*runtime.NumCPU()))
		})
	}
	b.Run("glob", func(b *testing.B) {
		ours := func() {
			run("glob", map[string]any{"pattern": "**/*7.go"}, fmt.Sprintf("%d files", (files+2)/10))
		}
		theirs := func() { git("ls-files", "*7.go") }
		ours()
		var us, them times
		for b.Loop() {
			us.of(ours)
			them.of(theirs)
		}
		atMost(b, "glob in 100,000 files", "s", us.at(0.5)/1e9, 1)
		shown(b, "glob / git ls-files, which reads an index", "", us.at(0.5)/them.at(0.5))
	})
}

// processor is how much of the processors' time something takes, here and in programs that it
// starts.
func processor(do func()) time.Duration {
	now := func() (sum time.Duration) {
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var used syscall.Rusage
			if syscall.Getrusage(who, &used) == nil {
				sum += time.Duration(used.Utime.Nano() + used.Stime.Nano())
			}
		}
		return sum
	}
	before := now()
	do()
	return now() - before
}

// forest is a folder with so many files, of which every thousandth has a needle.
func forest(b *testing.B, files int) string {
	b.Helper()
	root := must[string](b)(filepath.EvalSymlinks(b.TempDir()))
	body := strings.Repeat("func work(ctx context.Context) error { return nil } // some line of a program\n", 20)
	for i := range files {
		dir := filepath.Join(root, fmt.Sprintf("d%02d/e%02d", i%40, i/40%25))
		if i < 1000 {
			check(b, os.MkdirAll(dir, 0o755))
		}
		text := body
		if i%1000 == 0 {
			text += "the needle number 17\n"
		}
		check(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644))
	}
	return root
}
