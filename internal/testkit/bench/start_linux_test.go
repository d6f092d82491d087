package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// shot is a command that begins, does one thing, and ends.
type shot struct {
	title string
	args  []string
	env   []string
	fresh bool    // each time on the same workspace
	want  string  // what it must print; empty: anything
	limit float64 // ms by the clock
	rss   float64 // MB; 0: none
	used  []used
}

// BenchmarkStart measures what a start costs, what opening the workspace adds, and what a turn adds whose model answers
// at once. An empty Go program takes turns with all commands; what counts is the fastest of 20 runs of each.
func BenchmarkStart(b *testing.B) {
	sh, server := newShell(b), newVendor(b)
	empty := emptyProgram(b)
	place := sh.past(b, 10, false)
	shots := []*shot{
		{title: "`ramet version`", args: []string{"version"}, limit: 8},
		{title: "`ramet ps`", args: []string{"ps"}, limit: 12},
		{title: "`ramet show one`", args: []string{"show", "one"}, limit: 12},
		{title: "`ramet append one hello`", args: []string{"append", "one", "hello"}, fresh: true, limit: 12},
		{title: "`ramet track list`", args: []string{"track", "list"}, limit: 12},
		{title: "`ramet exec`, the built-in model", args: []string{"exec", "one", "hello", "--model", "offline/offline"}, fresh: true, limit: 25, rss: 28},
		{title: "`ramet exec`, a server on loopback", args: []string{"exec", "one", "Go on.", "--model", "anthropic/bench"},
			env: []string{"ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + server.URL}, fresh: true, want: "Hello, world.\n", limit: 25, rss: 28},
	}
	sh.load(b, place)
	var bare []used
	for b.Loop() {
		for range max(1, scaled(20)) {
			bare = append(bare, apart[used](b, shooting, errand{Path: empty, Dir: sh.project, Env: sh.env()}))
			for _, s := range shots {
				s.used = append(s.used, s.fire(b, sh, place))
			}
		}
	}
	theirs := wall(bare)
	shown(b, "an empty Go program, wall", "ms", theirs)
	for _, s := range shots {
		atMost(b, s.title+", wall", "ms", wall(s.used), s.limit)
		shown(b, s.title+", wall / an empty program's", "", wall(s.used)/theirs)
		shown(b, s.title+", CPU", "ms", middle(figures(s.used, func(u used) float64 { return float64(u.CPU) / 1e6 })))
		if s.rss != 0 {
			atMost(b, s.title+", peak RSS", "MB", middle(figures(s.used, func(u used) float64 { return float64(u.RSS) / 1e6 })), s.rss)
		}
	}
}

// fire runs the command once, in a workspace that begins as the file at place, if it changes it.
func (s *shot) fire(b *testing.B, sh *shell, place string) used {
	b.Helper()
	if s.fresh {
		sh.load(b, place)
	}
	return apart[used](b, shooting, errand{Path: sh.binary, Args: s.args, Dir: sh.project, Env: append(sh.env(), s.env...), Want: s.want})
}

// shooting is an errand whose words are compared where some are wanted.
var shooting = enrol("shot", func(e errand) (used, error) {
	if e.Want != "" {
		return runErrand(e)
	}
	return timed(e, func(string) bool { return true })
})

// wall returns the time of the fastest run, in milliseconds.
func wall(u []used) float64 {
	return slices.Min(figures(u, func(u used) float64 { return float64(u.Wall) / 1e6 }))
}

func figures(u []used, of func(used) float64) []float64 {
	out := make([]float64, len(u))
	for i := range u {
		out[i] = of(u[i])
	}
	return out
}

// emptyProgram is what the machine and Go's runtime alone take.
func emptyProgram(b *testing.B) string {
	b.Helper()
	dir := must[string](b)(os.MkdirTemp(workshop, "empty-*"))
	check(b, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	program := filepath.Join(dir, "empty")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", program, "main.go")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatal(fmt.Errorf("%s: %w\n%s", build, err, out))
	}
	return program
}
