package app_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ramet/internal/testkit/probe"
)

// An undo that is killed at any step that changes the disk has happened or has not, when the
// next command looked: never half of it; and it can be undone itself.
func TestAKilledUndoIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	w := newUndone(t, binary(t))
	points := w.points()
	for _, p := range selected(points, 2) {
		probe.KillAtStep(t, p, func(variable string) bool {
			if out := w.ramet([]string{variable}, "undo", "0", "--commands"); out.killed {
				return true
			} else if out.code != 0 {
				t.Fatal(out.stderr)
			}
			return false
		})
		if plan := w.ramet(nil, "undo", "0", "--commands", "--dry-run"); plan.code != 0 { // it finishes what was begun
			t.Fatalf("killed at %s: the next one: %s", p, plan.stderr)
		}
		is := w.which("killed at " + p.String())
		if again := w.ramet(nil, "undo", "0", "--commands"); again.code != 0 {
			t.Fatalf("killed at %s: the next undo: %s", p, again.stderr)
		} else if now := w.which("killed at " + p.String() + ", and undone"); now == is {
			t.Fatalf("killed at %s: the next undo changed nothing: %s", p, again.stdout)
		}
	}
	if out := w.ramet(nil, "verify"); out.code != 0 {
		t.Error(out.stderr)
	}
}

// undone is a folder that a turn of agent 0 changed.
type undone struct {
	*doomed
	trees [2]string // before the turn, and after
}

func newUndone(t *testing.T, exe string) *undone {
	t.Helper()
	home := t.TempDir()
	w := &undone{doomed: &doomed{t: t, exe: exe, dir: t.TempDir(), db: filepath.Join(home, "ramet.db")}}
	model := filepath.Join(home, "turn.jsonl")
	for name, text := range map[string]string{
		filepath.Join(w.dir, "a"): "one\n", filepath.Join(w.dir, "gone"): "here\n", filepath.Join(w.dir, "mode"): "x\n",
		model: `{"steps": [{"call": "bash", "args": {"command": "echo two >a; rm gone; mkdir -p d/e; echo new >d/e/new; ln -s a link; chmod 755 mode; echo more >more"}}]}
{"steps": [{"text": "done"}]}
`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.trees[0] = w.tree()
	if out := w.ramet([]string{"RAMET_TEST_SCRIPTS=1"}, "exec", "--allow", "bash", "--model", "script/"+model, "go"); out.code != 0 {
		t.Fatal(out.stderr)
	}
	w.trees[1] = w.tree()
	if w.trees[0] == w.trees[1] {
		t.Fatal("the turn changed nothing")
	}
	return w
}

// points records the steps of an undo in either direction, those that both have.
func (w *undone) points() []probe.Point {
	w.t.Helper()
	return probe.RecordSteps(w.t, 2, func(variable string) {
		is := w.which("before an undo")
		if out := w.ramet([]string{variable}, "undo", "0", "--commands"); out.code != 0 || w.which("after an undo") == is {
			w.t.Fatal("an undo changed nothing: " + out.stderr)
		}
	})
}

// which says which of the two trees is there.
func (w *undone) which(what string) int {
	w.t.Helper()
	now := w.tree()
	i := slices.Index(w.trees[:], now)
	if i < 0 {
		w.t.Fatalf("%s: the folder holds\n%s\nand neither\n%s\nnor\n%s", what, now, w.trees[0], w.trees[1])
	}
	return i
}

// tree is everything in the folder, as text.
func (w *undone) tree() string {
	w.t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(w.dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".ramet" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text, target := []byte(nil), ""
		if info.Mode().IsRegular() {
			text, err = os.ReadFile(p)
		} else if info.Mode()&fs.ModeSymlink != 0 {
			target, err = os.Readlink(p)
		}
		rel, _ := filepath.Rel(w.dir, p)
		fmt.Fprintf(&out, "%s %v %q%s\n", rel, info.Mode(), text, target)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.String()
}
