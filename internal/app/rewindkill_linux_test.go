package app_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit"
	"ramet/internal/testkit/probe"
)

// rewound is a project whose agent made files, changed some and removed some after a mark.
type rewound struct {
	*stage
	kept          string // what it was before the rewind, whole
	before, after string // its files
}

// A `rewind --files` that is killed with SIGKILL before any step that changes something: the
// next command, whatever it is for, finds everything as it was, or files and conversation gone back
// together, and an undo brings the files again.
func TestAKilledRewindIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	s := newRewound(t)
	points := probe.RecordSteps(t, 1, func(variable string) {
		if out := s.rewind(t, variable); out.code != 0 || tree(t, s.dir) != s.after {
			t.Fatalf("exit code %d: %s%s\n%s\nwant\n%s", out.code, out.stdout, out.stderr, tree(t, s.dir), s.after)
		}
	})
	for _, p := range selected(points, 2) {
		var out outcome
		probe.KillAtStep(t, p, func(variable string) bool {
			out = s.rewind(t, variable)
			return out.killed
		})
		s.judge(t, out, "killed at "+p.String())
		if t.Failed() {
			break
		}
	}
}

func newRewound(t *testing.T) *rewound {
	t.Helper()
	s := newStage(t, binary(t))
	files := 12
	if testkit.SoakOn() {
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
		testkit.OK(t, os.RemoveAll(filepath.Join(to, part)))
		testkit.OK(t, os.MkdirAll(to, 0o700))
		if out, err := exec.Command("cp", "-a", filepath.Join(from, part), to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// rewind goes back from the beginning, with a variable in its environment.
func (r *rewound) rewind(t *testing.T, variable string) outcome {
	t.Helper()
	r.copy(t, r.kept, filepath.Dir(r.dir))
	cmd := r.command("rewind", "0", "here", "--files", "--commands")
	cmd.Env = append(cmd.Env, variable)
	return outcomeOf(cmd)
}

// judge looks at what a kill left.
func (r *rewound) judge(t *testing.T, out outcome, what string) {
	t.Helper()
	said := r.must(t, "log", "0") // any command will do
	gone := !strings.Contains(said, "said later")
	switch got := tree(t, r.dir); {
	case got == r.after && gone:
	case got == r.before && !gone && out.stdout == "":
	default:
		t.Errorf("%s, having printed %q: the conversation went back: %t, and the files are\n%s\nbefore\n%s\nafter\n%s", what, out.stdout, gone, got, r.before, r.after)
		return
	}
	r.must(t, "verify")
	if !gone {
		return
	}
	undone := r.must(t, "undo", "0")
	if got := tree(t, r.dir); got != r.before {
		t.Errorf("%s: undo said %s and made\n%s\nwant\n%s", what, undone, got, r.before)
	}
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
