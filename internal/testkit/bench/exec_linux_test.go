package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"ramet/internal/core/agent"
	"ramet/internal/core/history"
	"ramet/internal/store"
	"ramet/internal/store/sqlite"
)

// errand is a command that is run and measured by a small process: what a child
// used of memory is counted from the moment of its fork, when it still has the
// memory of who forked it.
type errand struct {
	Path string
	Args []string
	Dir  string
	Env  []string
	Want string // what it must print
}

type used struct {
	Began     time.Time
	Wall, CPU time.Duration
	RSS       int64 // bytes, at its peak
}

var errands = enrol("errand", runErrand)

func runErrand(e errand) (used, error) {
	return timed(e, func(out string) bool { return out == e.Want })
}

// timed runs a command and asks whether it printed what it should.
func timed(e errand, good func(out string) bool) (used, error) {
	c := exec.Command(e.Path, e.Args...)
	c.Dir, c.Env = e.Dir, e.Env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	begin := time.Now()
	err := c.Run()
	took := time.Since(begin)
	if err != nil || !good(out.String()) {
		return used{}, fmt.Errorf("%v: %w, it printed %q\n%s", e.Args, err, out.String(), errs.Bytes())
	}
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	return used{Began: begin, Wall: took, CPU: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), RSS: usage.Maxrss << 10}, nil
}

// past is one length of it, and what `ramet exec` needed.
type past struct {
	name                              string
	place                             string
	first, wall, cpu, memory, request []float64 // ms, ms, ms, bytes, bytes
}

// `ramet exec` costs little beyond the model: time and memory grow with the bytes
// that are sent, not with the history.
func BenchmarkExec(b *testing.B) {
	sh, server := newShell(b), newVendor(b)
	long := max(20, scaled(10_000))
	pasts := []*past{
		{name: "10 messages", place: sh.past(b, 10, false)},
		{name: "10,000 messages", place: sh.past(b, long, false)},
		{name: "40,000 messages", place: sh.past(b, 4*long, false)},
		{name: "10 messages behind 10,000 cleared", place: sh.past(b, long, true)},
	}
	run := func(p *past) {
		sh.load(b, p.place) // each time the same history
		server.read()
		got := apart[used](b, errands, errand{
			Path: sh.binary, Args: []string{"exec", "one", "Go on.", "--model", "anthropic/bench"}, Dir: sh.project,
			Env: []string{"HOME=" + sh.home, "RAMET_HOME=" + sh.home, "PATH=" + os.Getenv("PATH"),
				"ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=" + server.URL},
			Want: "Hello, world.\n",
		})
		sent, theirs := server.read()
		p.first = append(p.first, float64(server.heard().Sub(got.Began))/1e6)
		p.wall = append(p.wall, float64(got.Wall-theirs)/1e6)
		p.cpu = append(p.cpu, float64(got.CPU)/1e6)
		p.memory = append(p.memory, float64(got.RSS))
		p.request = append(p.request, float64(sent))
	}
	for b.Loop() {
		for range max(1, scaled(10)) {
			for _, p := range pasts {
				run(p)
			}
		}
	}
	for _, p := range pasts {
		title := "`ramet exec` with " + p.name + ": "
		shown(b, title+"wall beyond the server's time", "ms", middle(p.wall))
		if p == pasts[2] { // promised for 10,000; this one shows the growth
			shown(b, title+"to the first byte of the request", "ms", middle(p.first))
			shown(b, title+"peak RSS", "MB", middle(p.memory)/1e6)
		} else {
			atMost(b, title+"to the first byte of the request", "ms", middle(p.first), 60)
			atMost(b, title+"peak RSS", "MB", middle(p.memory)/1e6, 40+4*middle(p.request)/1e6)
		}
		shown(b, title+"CPU", "ms", middle(p.cpu))
		shown(b, title+"request", "MB", middle(p.request)/1e6)
	}
	few, many, more, cleared := pasts[0], pasts[1], pasts[2], pasts[3]
	rate := func(p *past) float64 { // ms for a byte more
		return (middle(p.wall) - middle(few.wall)) / (middle(p.request) - middle(few.request))
	}
	shown(b, "`ramet exec`: wall for a further megabyte of request, at 10,000 messages", "ms", rate(many)*1e6)
	atMost(b, "`ramet exec`: wall for a further byte, at 40,000 messages / at 10,000", "", rate(more)/rate(many), 1.5)
	atMost(b, "`ramet exec`: wall with 10 messages behind 10,000 cleared / with 10", "", middle(cleared.wall)/middle(few.wall), 1.2)
}

// past makes a workspace whose agent, called one, has a conversation of n messages
// behind it, and its database file.
func (sh *shell) past(b *testing.B, n int, cleared bool) string {
	b.Helper()
	place := filepath.Join(b.TempDir(), "ramet.db")
	s := must[*store.Store](b)(sqlite.Open(b.Context(), place, sqlite.Options{Cwd: sh.project}))
	zero := must[agent.Agent](b)(s.Zero(b.Context())).ID
	one := fork(b, s, zero, 1, func(int) string { return "one" })[0].ID
	discuss(b, s, one, n)
	if cleared {
		_, err := s.Append(b.Context(), one, agent.Passing(), history.NewClear())
		check(b, err)
		discuss(b, s, one, 10)
	}
	check(b, s.Close())
	settle(b, place)
	return place
}

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

// readings run a command whose output nobody keeps: there is a gigabyte of it.
var readings = enrol("reading", func(e errand) (used, error) {
	c := exec.Command(e.Path, e.Args...)
	c.Dir, c.Env = e.Dir, e.Env
	var errs bytes.Buffer
	c.Stderr = &errs
	begin := time.Now()
	if err := c.Run(); err != nil {
		return used{}, fmt.Errorf("%v: %w\n%s", e.Args, err, errs.Bytes())
	}
	took := time.Since(begin)
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	return used{Wall: took, CPU: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), RSS: usage.Maxrss << 10}, nil
})

// What reads a million messages takes seconds, with both processors, and no more memory than for a
// tenth of them.
func BenchmarkEverythingIsRead(b *testing.B) {
	sh := newShell(b)
	all := max(1000, scaled(1_000_000))
	places := []string{sh.past(b, all/10, false), sh.past(b, all, false)}
	commands := []struct {
		args  []string
		limit float64 // s
	}{{[]string{"log", "one"}, 6}, {[]string{"export", "one"}, 8}, {[]string{"verify"}, 5}}
	wall, cpu, memory := make([][]float64, len(commands)), make([][]float64, len(commands)), make([][2][]float64, len(commands))
	for b.Loop() {
		for size, place := range places {
			sh.load(b, place)
			for i, c := range commands {
				got := apart[used](b, readings, errand{Path: sh.binary, Args: c.args, Dir: sh.project,
					Env: []string{"HOME=" + sh.home, "RAMET_HOME=" + sh.home, "PATH=" + os.Getenv("PATH")}})
				memory[i][size] = append(memory[i][size], float64(got.RSS))
				if size == 1 {
					wall[i], cpu[i] = append(wall[i], got.Wall.Seconds()), append(cpu[i], got.CPU.Seconds())
				}
			}
		}
	}
	for i, c := range commands {
		title := "`ramet " + c.args[0] + "` of 1,000,000 messages"
		atMost(b, title, "s", middle(wall[i]), c.limit)
		shown(b, title+", CPU", "s", middle(cpu[i]))
		atMost(b, title+", peak RSS", "MB", middle(memory[i][1])/1e6, 200)
		atMost(b, title+", peak RSS / of 100,000", "", middle(memory[i][1])/middle(memory[i][0]), 1.5)
	}
}

// Runs of many items by the real binary, on the built-in stores: what the engine costs
// beside the work. A scripted model answers at once, and nobody has tools.

// manyItems is a recipe of n items whose agents say a word, and a clone before them.
const manyItems = `name: many
description: as many items as there are names
parameters: {repo: {required: true}}
states:
  CLONED_INPUTS: [clone]
  PLAN_READY: [names]
  DRAFTING: [write]
workers:
  clone:
    uses: clone
    with: {repo: '{repo}'}
    outputs: [{path: artifacts/inputs.json, schema: inputs}, work/base.bundle]
  names:
    prompt: the names
    inputs: [artifacts/inputs.json]
    outputs: [{path: artifacts/names.json, answer: true}]
  write:
    each: {from: artifacts/names.json}
    prompt: 'write {{scope}}'
    inputs: [artifacts/names.json]
    outputs: [{path: 'drafts/{scope}.txt', answer: true}]
`

// project is where a run of n items is carried out.
type project struct {
	*shell
	n                    int
	recipe, script, repo string
}

func newProject(b *testing.B, sh *shell, n int) *project {
	b.Helper()
	dir := b.TempDir()
	p := &project{n: n, recipe: filepath.Join(dir, "many.yaml"), script: filepath.Join(dir, "many.jsonl"), repo: filepath.Join(dir, "repo"),
		shell: &shell{binary: sh.binary, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}}
	check(b, os.MkdirAll(filepath.Join(p.project, ".git"), 0o700))
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("n%05d", i)
	}
	list := string(must[[]byte](b)(json.Marshal(names)))
	replies := fmt.Sprintf("{\"when\": \"the names\", \"repeat\": true, \"steps\": [{\"text\": %q}]}\n{\"repeat\": true, \"steps\": [{\"text\": \"a word\"}]}\n", list)
	check(b, os.WriteFile(p.recipe, []byte(manyItems), 0o600))
	check(b, os.WriteFile(p.script, []byte(replies), 0o600))
	for _, args := range [][]string{{"init", "-q", p.repo}, {"-C", p.repo, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "one"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	return p
}

func (p *project) env() []string {
	return []string{"HOME=" + p.home, "RAMET_HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "RAMET_TEST_SCRIPTS=1"}
}

func (p *project) start() []string {
	return []string{"run", "start", "--recipe", p.recipe, "--repo", p.repo, "--run-id", "r", "--model", "script/" + p.script}
}

func (p *project) folder() string { return filepath.Join(p.project, ".ramet", "runs", "r") }

// carry carries the run out to its end and says what that took; items counts all attempts.
func (p *project) carry(b *testing.B, items int, args ...string) used {
	b.Helper()
	return apart[used](b, errands, errand{Path: p.binary, Args: args, Dir: p.project, Env: p.env(),
		Want: fmt.Sprintf("run r is DONE: %d items, %d artifacts in %s\n", items, p.n+3, p.folder())})
}
