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
	"strings"
	"sync"
	"testing"

	"ramet/internal/core/trust"
	"ramet/internal/testkit"
)

// errand is a project in which runs are carried out by the real binary.
type errand struct {
	t               *testing.T
	exe, dir, where string // binary, project, effects
	env             []string
}

func newErrand(t *testing.T) *errand {
	dir := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	e := &errand{t: t, exe: binary(t), dir: filepath.Join(dir, "project"), where: filepath.Join(dir, "effects")}
	testkit.OK(t, errors.Join(os.MkdirAll(filepath.Join(e.dir, ".git"), 0o700), os.WriteFile(e.where, nil, 0o600)))
	e.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + dir}
	return e
}

func (e *errand) ramet(env []string, args ...string) outcome {
	e.t.Helper()
	if looks(args) {
		return runInside(e.dir, slices.Concat(e.env, env), args...)
	}
	cmd := exec.CommandContext(e.t.Context(), e.exe, args...)
	cmd.Dir, cmd.Env = e.dir, slices.Concat(e.env, env)
	return outcomeOf(cmd)
}

// must demands an exit code.
func (e *errand) must(code int, args ...string) outcome {
	e.t.Helper()
	r := e.ramet(nil, args...)
	if r.code != code {
		e.t.Fatalf("ramet %s: exit code %d, not %d\n%s%s", strings.Join(args, " "), r.code, code, r.stdout, r.stderr)
	}
	return r
}

func (e *errand) run(name string) string { return filepath.Join(e.dir, ".ramet", "runs", name) }

// made returns the artifacts and drafts of a run.
func (e *errand) made(name string) map[string]string { return made(e.t, e.run(name)) }

// made returns the artifacts and drafts in the folder of a run, by path.
func made(t *testing.T, run string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, folder := range []string{"artifacts", "drafts"} {
		err := filepath.WalkDir(filepath.Join(run, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".staged-") {
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(run, path)
			out[rel] = string(data)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return out
}

// events counts the lines of a log.
func (e *errand) events(name string) int {
	e.t.Helper()
	data := testkit.Must(os.ReadFile(filepath.Join(e.run(name), "events.ndjson")))(e.t)
	return bytes.Count(data, []byte("\n"))
}

// effects counts what happened outside, by key.
func (e *errand) effects() map[string]int {
	e.t.Helper()
	data := testkit.Must(os.ReadFile(e.where))(e.t)
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
	recipe := testkit.Must(filepath.Abs("testdata/recipes/hundred.yaml"))(e.t)
	return append([]string{"run", "start", "--recipe", recipe, "--set", "effects=" + e.where, "--run-id", "hundred-run"}, accepting(e.t, recipe)...)
}

// accepting are the words of a person who has looked at a recipe that acts outside of the run.
func accepting(t testing.TB, recipe string) []string {
	t.Helper()
	text := testkit.Must(os.ReadFile(recipe))(t)
	return []string{"--accept", trust.RecipeDigest(string(text))}
}

// A run of a hundred items that dies by SIGKILL is resumed twice at once: one resume does it, and is told the other. Nothing
// that was completed is done again. That a run can be killed after any event is tested in internal/runner.
func TestTwoResumesOfAKilledRun(t *testing.T) {
	t.Parallel()
	const events = 300
	e := newErrand(t)
	if r := e.ramet([]string{fmt.Sprint("RAMET_TEST_DIE_AFTER=", events)}, startHundred(e)...); !r.killed || e.events("hundred-run") != events {
		t.Fatalf("exit code %d, %d events\n%s", r.code, e.events("hundred-run"), r.stderr)
	}
	done := e.completed("hundred-run")
	var both [2]outcome
	var all sync.WaitGroup
	for i := range both {
		all.Go(func() { both[i] = e.ramet(nil, "run", "resume", "hundred-run") })
	}
	all.Wait()
	if both[0].code != 0 {
		both[0], both[1] = both[1], both[0]
	}
	if both[0].code != 0 || both[1].code != 4 || !strings.Contains(both[1].stderr, "error[LOCKED]: ") && !strings.Contains(both[1].stderr, "is DONE: it does not reopen") {
		t.Fatalf("%+v", both)
	}
	after := e.completed("hundred-run")
	if unique := slices.Compact(slices.Sorted(slices.Values(after))); len(unique) != 100 || len(after) != 100 || !slices.Equal(after[:len(done)], done) {
		t.Errorf("%d items were finished before; %d after, %d different ones", len(done), len(after), len(unique))
	}
	if made, acted := e.made("hundred-run"), e.effects(); len(made) != 100 || len(acted) != 17 {
		t.Errorf("%d artifacts, %d effects", len(made), len(acted))
	}
	for key, n := range e.effects() {
		if n != 1 {
			t.Errorf("%s happened %d times", key, n)
		}
	}
	e.needNeutral("hundred-run")
	e.must(0, "run", "verify", "hundred-run")
	e.must(0, "run", "replay", "hundred-run", "--check")
	e.must(0, "verify")
}

var itemOf = regexp.MustCompile(`"work_item_id":"([^"]+)"`)

// completed are the units whose items were finished, in that order.
func (e *errand) completed(name string) []string {
	e.t.Helper()
	data := testkit.Must(os.ReadFile(filepath.Join(e.run(name), "events.ndjson")))(e.t)
	var out []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, `"type":"WORK_ITEM_FINISHED"`) {
			p := strings.SplitN(itemOf.FindStringSubmatch(line)[1], ":", 4)
			out = append(out, p[1]+":"+p[3])
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
