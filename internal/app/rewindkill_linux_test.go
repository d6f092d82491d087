package app_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rewindCalls are those by which a rewind with files changes something.
var rewindCalls = []string{"renameat", "unlinkat", "mkdirat", "symlinkat", "fchmodat", "fchmod", "write", "pwrite64", "fsync", "ftruncate"}

// rewound is a project whose agent made files, changed some and removed some after a mark.
type rewound struct {
	*stage
	kept          string // what it was before the rewind, whole
	before, after string // its files
}

// A `rewind --files` that is killed with SIGKILL as it enters any call that changes something: the
// next command, whatever it is for, finds everything as it was, or files and conversation gone back
// together, and an undo brings the files again. Some points; RAMET_SOAK: all, which are more than 500.
func TestAKilledRewindIsWholeOrNothingSoak(t *testing.T) {
	t.Parallel()
	s, points := newRewound(t), 3
	if os.Getenv("RAMET_SOAK") != "" {
		points = 1 << 30
	}
	type point struct {
		call string
		n    int
	}
	var all []point
	counted := s.count(t)
	for _, call := range rewindCalls {
		for n := range counted[call] {
			all = append(all, point{call, n + 1})
		}
	}
	rand.New(rand.NewPCG(seed, 17)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	kills, halves := 0, 0
	for _, p := range all {
		if kills == points || t.Failed() {
			break
		}
		out := s.rewind(t, os.DevNull, p.call, fmt.Sprintf("inject=%s:signal=KILL:when=%d", p.call, p.n))
		if !out.killed {
			continue // strace counts for each thread
		}
		kills++
		if s.judge(t, out, fmt.Sprintf("killed at %s %d of %d kinds", p.call, p.n, len(rewindCalls))) {
			halves++
		}
	}
	if kills < min(points, 500) {
		t.Errorf("%d kills at %d points", kills, len(all))
	}
	t.Logf("%d kills, %d of them with the rewind under way or done", kills, halves)
}

func newRewound(t *testing.T) *rewound {
	t.Helper()
	s := newStage(t, binary(t))
	files := 12
	if os.Getenv("RAMET_SOAK") != "" {
		files = 140
	}
	s.db = filepath.Join(filepath.Dir(s.dir), "db", "ramet.db")
	for n := range files {
		write(t, filepath.Join(s.dir, fmt.Sprintf("d%d", n%3), fmt.Sprintf("f%d", n)), fmt.Sprintf("file %d\n", n))
	}
	model := s.script(t,
		`{"steps": [{"call": "bash", "args": {"command": "mkdir -p new/er && for f in d0/*; do echo more >>$f; done; rm d1/*; rmdir d1; mv d2 moved; ln -s nowhere link; echo x >new/er/x; chmod 600 d0/f0"}}]}`,
		`{"steps": [{"text": "done, said later"}]}`)
	s.must(t, "append", "0", "hello")
	s.must(t, "exec", "--model", s.script(t, `{"steps": [{"call": "bash", "args": {"command": "true"}}]}`, `{"steps": [{"text": "begun"}]}`), "--allow", "bash", "begin")
	s.must(t, "mark", "0", "here")
	r := &rewound{stage: s, after: tree(t, s.dir)}
	s.must(t, "exec", "--model", model, "--allow", "bash", "change everything")
	if r.before = tree(t, s.dir); r.before == r.after {
		t.Fatal("nothing changed")
	}
	r.kept = filepath.Join(filepath.Dir(s.dir), "kept")
	r.copy(t, filepath.Dir(s.dir), r.kept)
	return r
}

// copy makes the project and its database in a folder what they are in another.
func (r *rewound) copy(t *testing.T, from, to string) {
	t.Helper()
	for _, part := range []string{"project", "db"} {
		if err := os.RemoveAll(filepath.Join(to, part)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-a", filepath.Join(from, part), to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// rewind goes back under strace, from the beginning.
func (r *rewound) rewind(t *testing.T, trace, call string, tamper ...string) outcome {
	t.Helper()
	r.copy(t, r.kept, filepath.Dir(r.dir))
	under := []string{"strace", "-f", "-qq", "-o", trace, "-e", "trace=" + call}
	for _, one := range tamper {
		under = append(under, "-e", one)
	}
	cmd := r.wrapped(under, "rewind", "0", "here", "--files")
	cmd.Env = append(cmd.Env, "GOMAXPROCS=1") // most calls on one thread
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), !cmd.ProcessState.Exited()}
}

// count is how often a rewind makes each call.
func (r *rewound) count(t *testing.T) map[string]int {
	t.Helper()
	trace := filepath.Join(filepath.Dir(r.dir), "trace")
	if out := r.rewind(t, trace, strings.Join(rewindCalls, ",")); out.code != 0 || tree(t, r.dir) != r.after {
		t.Fatalf("exit code %d: %s%s\n%s\nwant\n%s", out.code, out.stdout, out.stderr, tree(t, r.dir), r.after)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, call := range rewindCalls {
		out[call] = bytes.Count(text, []byte(" "+call+"("))
	}
	return out
}

// judge looks at what a kill left, and says whether the rewind came about.
func (r *rewound) judge(t *testing.T, out outcome, what string) bool {
	t.Helper()
	said := r.must(t, "log", "0") // any command will do
	gone := !strings.Contains(said, "said later")
	switch got := tree(t, r.dir); {
	case got == r.after && gone:
	case got == r.before && !gone && out.stdout == "":
	default:
		t.Errorf("%s, having printed %q: the conversation went back: %t, and the files are\n%s\nbefore\n%s\nafter\n%s", what, out.stdout, gone, got, r.before, r.after)
		return gone
	}
	r.must(t, "verify")
	if !gone {
		return false
	}
	undone := r.must(t, "undo", "0")
	if got := tree(t, r.dir); got != r.before {
		t.Errorf("%s: undo said %s and made\n%s\nwant\n%s", what, undone, got, r.before)
	}
	return true
}

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tree is what lies below a folder, but for git's own, ramet's, and scripts.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" || e.Name() == ".ramet" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil || strings.HasSuffix(path, ".script") {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		line := info.Mode().String() + " " + name
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", text)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += " → " + to
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
