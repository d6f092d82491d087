package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

// The real binary carries out a hundred items and dies by SIGKILL right after an event;
// resumed, it makes what the undisturbed run made, repeats nothing that
// was completed, and each effect that has a key and can be looked up has happened once.

// errand is a project in which runs are carried out by the real binary.
type errand struct {
	t               *testing.T
	exe, dir, where string // binary, project, effects
	env             []string
}

func newErrand(t *testing.T) *errand {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &errand{t: t, exe: binary(t), dir: filepath.Join(dir, "project"), where: filepath.Join(dir, "effects")}
	if err := errors.Join(os.MkdirAll(filepath.Join(e.dir, ".git"), 0o700), os.WriteFile(e.where, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	e.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + dir}
	return e
}

// ended is a command that has ended.
type ended struct {
	out, errs string
	code      int // -1: it was killed
}

func (e *errand) ramet(env []string, args ...string) ended {
	e.t.Helper()
	cmd := exec.CommandContext(e.t.Context(), e.exe, args...)
	cmd.Dir, cmd.Env = e.dir, slices.Concat(e.env, env)
	// Whatever a killed run leaves keeps no pipe open.
	out, err := os.CreateTemp(e.t.TempDir(), "out")
	if err != nil {
		e.t.Fatal(err)
	}
	defer out.Close()
	errs, err := os.CreateTemp(e.t.TempDir(), "err")
	if err != nil {
		e.t.Fatal(err)
	}
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		e.t.Fatal(err)
	}
	read := func(f *os.File) string {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			e.t.Fatal(err)
		}
		return string(data)
	}
	r := ended{read(out), read(errs), cmd.ProcessState.ExitCode()}
	if w := cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() && w.Signal() != syscall.SIGKILL {
		e.t.Fatalf("ramet %s: %s\n%s", strings.Join(args, " "), w.Signal(), r.errs)
	}
	return r
}

// must demands an exit code.
func (e *errand) must(code int, args ...string) ended {
	e.t.Helper()
	r := e.ramet(nil, args...)
	if r.code != code {
		e.t.Fatalf("ramet %s: exit code %d, not %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.errs)
	}
	return r
}

func (e *errand) run(name string) string { return filepath.Join(e.dir, ".ramet", "runs", name) }

// made are the files of artifacts and drafts.
func (e *errand) made(name string) map[string]string {
	e.t.Helper()
	out := map[string]string{}
	for _, folder := range []string{"artifacts", "drafts"} {
		err := filepath.WalkDir(filepath.Join(e.run(name), folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".staged-") {
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(e.run(name), path)
			out[rel] = string(data)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.t.Fatal(err)
		}
	}
	return out
}

// events counts the lines of a log.
func (e *errand) events(name string) int {
	e.t.Helper()
	data, err := os.ReadFile(filepath.Join(e.run(name), "events.ndjson"))
	if err != nil {
		e.t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

// effects counts what happened outside, by key.
func (e *errand) effects() map[string]int {
	e.t.Helper()
	data, err := os.ReadFile(e.where)
	if err != nil {
		e.t.Fatal(err)
	}
	out := map[string]int{}
	for key := range strings.Lines(string(data)) {
		out[strings.TrimSuffix(key, "\n")]++
	}
	return out
}

// Whoever reads an artifact learns nothing of the run, the machine and the day.
var ofThisRun = regexp.MustCompile(`hundred-run|/tmp/|/home/|\b20\d\d-\d\d-\d\d[T ]\d\d:`)

func (e *errand) needNeutral(name string) {
	e.t.Helper()
	for path, text := range e.made(name) {
		if at := ofThisRun.FindString(text); at != "" || strings.Contains(text, e.dir) || strings.Contains(text, name+":") {
			e.t.Errorf("%s tells of the run or of the machine: %q", path, at)
		}
	}
}

func startHundred(e *errand) []string {
	recipe, err := filepath.Abs("testdata/recipes/hundred.yaml")
	if err != nil {
		e.t.Fatal(err)
	}
	return append([]string{"run", "start", "--recipe", recipe, "--set", "effects=" + e.where, "--run-id", "hundred-run"}, accepting(e.t, recipe)...)
}

// accepting are the words of a person who has looked at a recipe that acts outside of the run.
func accepting(t testing.TB, recipe string) []string {
	t.Helper()
	text, err := os.ReadFile(recipe)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--accept", trust.RecipeDigest(string(text))}
}

func TestAHundredItemsKilledAfterAnEvent(t *testing.T) {
	t.Parallel()
	killAfterEvents(t, func(events int) []int { return []int{events / 2} })
}

func TestAHundredItemsKilledAfterEveryEventSoak(t *testing.T) {
	testkit.SoakOnly(t)
	killAfterEvents(t, func(events int) (at []int) {
		step := events / 10
		if testkit.SoakOn() {
			step = 1
		}
		for n := 1; n < events; n += step {
			at = append(at, n)
		}
		return at
	})
}

// killAfterEvents kills a run after some of its events, and after the last one, where the effects are.
func killAfterEvents(t *testing.T, some func(events int) []int) {
	whole := newErrand(t)
	if r := whole.must(0, startHundred(whole)...); !strings.HasPrefix(r.out, "run hundred-run is DONE: 100 items, 100 artifacts") {
		t.Fatal(r.out)
	}
	want, events, acted := whole.made("hundred-run"), whole.events("hundred-run"), whole.effects()
	if len(want) != 100 || len(acted) != 17 {
		t.Fatalf("%d artifacts, %d effects", len(want), len(acted))
	}
	whole.needNeutral("hundred-run")
	for _, n := range append(some(events), events) {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			killedAfter(t, n, want, acted)
		})
	}
}

// Of two that go on with a run at once one does, and the other is told so.
func TestTwoResumesAtOnce(t *testing.T) {
	t.Parallel()
	e := newErrand(t)
	if r := e.ramet([]string{"RAMET_TEST_DIE_AFTER=300"}, startHundred(e)...); r.code != -1 {
		t.Fatalf("exit code %d\n%s", r.code, r.errs)
	}
	var both [2]ended
	var all sync.WaitGroup
	for i := range both {
		all.Go(func() { both[i] = e.ramet(nil, "run", "resume", "hundred-run") })
	}
	all.Wait()
	if both[0].code != 0 {
		both[0], both[1] = both[1], both[0]
	}
	if both[0].code != 0 || both[1].code != 4 || !strings.Contains(both[1].errs, "error[LOCKED]: ") && !strings.Contains(both[1].errs, "is DONE: it does not reopen") {
		t.Fatalf("%+v", both)
	}
	if after := e.completed("hundred-run"); len(after) != 100 || len(twice(after)) > 0 {
		t.Errorf("%d items were finished, twice: %v", len(after), twice(after))
	}
	for key, n := range e.effects() {
		if n != 1 {
			t.Errorf("%s happened %d times", key, n)
		}
	}
	e.must(0, "run", "verify", "hundred-run")
}

func killedAfter(t *testing.T, n int, want map[string]string, acted map[string]int) {
	e := newErrand(t)
	if r := e.ramet([]string{"RAMET_TEST_DIE_AFTER=" + strconv.Itoa(n)}, startHundred(e)...); r.code != -1 {
		t.Fatalf("exit code %d\n%s", r.code, r.errs)
	}
	if got := e.events("hundred-run"); got != n {
		t.Errorf("it wrote %d events", got)
	}
	done := e.completed("hundred-run")
	e.goesOn()
	if got := e.made("hundred-run"); !maps.Equal(got, want) {
		t.Error(differ(got, want))
	}
	e.needNeutral("hundred-run")
	again := e.effects()
	for key := range acted {
		// What could not be looked up was done again because we asked for it.
		if n := again[key]; n != 1 && !(key == "shout-all" && n == 2) {
			t.Errorf("%s happened %d times", key, n)
		}
	}
	if after := e.completed("hundred-run"); len(after) != 100 || !slices.Equal(after[:len(done)], done) {
		t.Errorf("%d items were finished before, %d after; of these were done again: %v", len(done), len(after), twice(after))
	}
	e.must(0, "run", "verify", "hundred-run")
	e.must(0, "run", "replay", "hundred-run", "--check")
	e.must(0, "verify")
}

// goesOn resumes. An effect of which nobody can know is listed, and not repeated until
// somebody says so.
func (e *errand) goesOn() {
	e.t.Helper()
	r := e.ramet(nil, "run", "resume", "hundred-run")
	if r.code == 4 && strings.Contains(r.errs, "run hundred-run is DONE: it does not reopen") {
		return // the last event was its end
	}
	const item = "hundred-run:shout:1:all"
	if strings.Contains(r.errs, "UNKNOWN_OUTCOME") {
		before := e.effects()["shout-all"]
		again := e.ramet(nil, "run", "resume", "hundred-run")
		if again.code == 0 || !strings.Contains(again.errs, "UNKNOWN_OUTCOME") || !strings.Contains(again.errs, item) || e.effects()["shout-all"] != before {
			e.t.Fatalf("resumed twice: %d, %d effects\n%s", again.code, e.effects()["shout-all"], again.errs)
		}
		r = e.ramet(nil, "run", "resume", "hundred-run", "--redo", item)
	}
	if r.code != 0 || !strings.HasPrefix(r.out, "run hundred-run is DONE") {
		e.t.Fatalf("resumed: exit code %d\n%s%s", r.code, r.out, r.errs)
	}
}

var itemOf = regexp.MustCompile(`"work_item_id":"([^"]+)"`)

// completed are the units whose items were finished, in that order.
func (e *errand) completed(name string) []string {
	e.t.Helper()
	data, err := os.ReadFile(filepath.Join(e.run(name), "events.ndjson"))
	if err != nil {
		e.t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"type":"WORK_ITEM_FINISHED"`) {
			p := strings.SplitN(itemOf.FindStringSubmatch(line)[1], ":", 4)
			out = append(out, p[1]+":"+p[3])
		}
	}
	return out
}

// twice are the words that stand in a list more than once.
func twice(words []string) []string {
	var out []string
	for i, w := range words {
		if slices.Contains(words[:i], w) {
			out = append(out, w)
		}
	}
	return out
}

// differ says where two sets of files differ.
func differ(got, want map[string]string) string {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if text, ok := got[path]; !ok {
			return path + " is missing"
		} else if text != want[path] {
			return fmt.Sprintf("%s is %.300q, not %.300q", path, text, want[path])
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			return path + " is too much"
		}
	}
	return ""
}
