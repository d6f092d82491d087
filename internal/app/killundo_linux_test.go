package app_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An undo that is killed at any call that changes the disk has happened or has not, when the
// next command looked: never half of it; and it can be undone itself.
func TestAKilledUndoIsWholeOrNothing(t *testing.T) {
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	kills := 6
	if os.Getenv("RAMET_KILLS") != "" {
		kills = killsWanted(t)
	}
	w := newUndone(t, exe)
	calls := []string{"renameat", "unlinkat", "fsync", "mkdirat", "symlinkat", "pwrite64", "write"}
	count := w.learn(calls)
	calls = slices.DeleteFunc(calls, func(call string) bool { return count[call] == 0 })
	dice, done := rand.New(rand.NewPCG(17, 1)), map[string]int{}
	for tries := 0; len(calls) > 0 && tries < 4*kills && sum(done) < kills; tries++ {
		call := calls[tries%len(calls)]
		n := 1 + dice.IntN(count[call])
		out := w.ramet([]string{"strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace=" + call, "-e",
			fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)}, "undo", "0")
		what := fmt.Sprintf("killed at %s %d", call, n)
		if out.killed {
			done[call]++
		} else if out.code != 0 {
			t.Fatalf("%s: %s", what, out.stderr)
		}
		if plan := w.ramet(nil, "undo", "0", "--dry-run"); plan.code != 0 { // it finishes what was begun
			t.Fatalf("%s: the next one: %s", what, plan.stderr)
		}
		is := w.which(what)
		if again := w.ramet(nil, "undo", "0"); again.code != 0 {
			t.Fatalf("%s: the next undo: %s", what, again.stderr)
		} else if now := w.which(what + ", and undone"); now == is {
			t.Fatalf("%s: the next undo changed nothing: %s", what, again.stdout)
		}
	}
	if sum(done) < kills {
		t.Errorf("%d kills, not %d", sum(done), kills)
	}
	if out := w.ramet(nil, "verify"); out.code != 0 {
		t.Error(out.stderr)
	}
	t.Logf("%v", done)
}

func sum(of map[string]int) (n int) {
	for _, m := range of {
		n += m
	}
	return n
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
	if out := w.ramet([]string{"env", "RAMET_TEST_SCRIPTS=1"}, "exec", "--allow", "bash", "--model", "script/"+model, "go"); out.code != 0 {
		t.Fatal(out.stderr)
	}
	w.trees[1] = w.tree()
	if w.trees[0] == w.trees[1] {
		t.Fatal("the turn changed nothing")
	}
	return w
}

// learn counts the calls of an undo, and takes it back.
func (w *undone) learn(calls []string) map[string]int {
	w.t.Helper()
	trace := filepath.Join(filepath.Dir(w.db), "trace")
	out := w.ramet([]string{"strace", "-f", "-qq", "-o", trace, "-e", "trace=" + strings.Join(calls, ",")}, "undo", "0")
	text, err := os.ReadFile(trace)
	if err != nil || out.code != 0 {
		w.t.Fatalf("%v %s", err, out.stderr)
	}
	if w.which("traced") != 0 {
		w.t.Fatal("an undo changed nothing")
	}
	if out := w.ramet(nil, "undo", "0"); out.code != 0 || w.which("undone") != 1 {
		w.t.Fatal("an undo of an undo changed nothing: " + out.stderr)
	}
	count := map[string]int{}
	for _, call := range calls {
		count[call] = strings.Count(string(text), call+"(")
	}
	return count
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
