package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/testkit"
)

const (
	ada  = id.Agent("ada")
	bob  = id.Agent("bob")
	carl = id.Agent("carl")
)

// pastBench is a folder with its past.
type pastBench struct {
	t    *testing.T
	root string
	past *Past
	f    *PastFolder
}

func newBenchPast(t *testing.T) *pastBench {
	t.Helper()
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	b := &pastBench{t: t, root: root}
	b.past = OpenPast(PastOptions{Dir: filepath.Join(t.TempDir(), "files"), Env: []string{"HOME=" + t.TempDir()}})
	b.f = testkit.Must(b.past.Folder(root))(t)
	return b
}

func (b *pastBench) path(name string) string { return filepath.Join(b.root, name) }

func (b *pastBench) put(name, content string) {
	b.t.Helper()
	testkit.OK(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	testkit.OK(b.t, os.WriteFile(b.path(name), []byte(content), 0o644))
}

func (b *pastBench) take() Taken {
	b.t.Helper()
	taken := testkit.Must(b.f.Take(b.t.Context(), nil))(b.t)
	return taken
}

// acts is what an agent does in one call.
func (b *pastBench) acts(a id.Agent, do func()) {
	end := b.past.Begin(a, b.root)
	do()
	end()
}

// writes is what a tool of ours does.
func (b *pastBench) writes(a id.Agent, name, content string) {
	b.f.Writes(a, name, []byte(content))
	b.put(name, content)
}

// apart lets the clock of the file system go on, so that what follows has another time.
func (b *pastBench) apart() {
	b.t.Helper()
	probe := filepath.Join(b.t.TempDir(), "probe")
	begun := time.Now().Add(2 * slack)
	testkit.WaitUntil(b.t, "the clock of the file system has moved on", func() bool {
		testkit.OK(b.t, os.WriteFile(probe, nil, 0o600))
		info := testkit.Must(os.Stat(probe))(b.t)
		return info.ModTime().After(begun)
	})
}

func stateOf(t Taken) PastState { return PastState{Root: t.Root, Step: t.Step, Partial: t.Partial()} }

func (b *pastBench) restore(r Restore) (RestoreDone, Taken) {
	b.t.Helper()
	p, _, err := b.f.Plan(b.t.Context(), r)
	testkit.OK(b.t, err)
	done, after, err := b.f.Carry(b.t.Context(), p, silentPast)
	testkit.OK(b.t, err)
	return done, after
}

// silentPast tells nobody.
func silentPast(RestoreDone, Taken) error { return nil }

// tree is everything in the folder but .git, as text.
func tree(t *testing.T, root string) string {
	t.Helper()
	var out strings.Builder
	testkit.OK(t, filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		fmt.Fprintf(&out, "%s %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, " %q", text)
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			fmt.Fprintf(&out, " → %s", to)
		}
		out.WriteString("\n")
		return nil
	}))
	return out.String()
}

func TestARewindBringsBackWhatAnAgentChanged(t *testing.T) {
	b := newBenchPast(t)
	b.put("a", "one")
	b.put("gone", "there")
	before := b.take()
	b.apart()
	b.acts(ada, func() {
		b.put("a", "two")
		b.put("new/b", "b")
		os.Remove(b.path("gone"))
	})
	after := b.take()
	if len(after.Changes) != 4 { // a, gone, new, new/b
		t.Errorf("%+v", after.Changes)
	}
	now := tree(t, b.root)
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	if len(done.Kept) > 0 || !slices.Equal(done.Changed, []string{"new/b", "new", "a", "gone"}) {
		t.Errorf("changed %q, kept %+v", done.Changed, done.Kept)
	}
	if text, _ := os.ReadFile(b.path("a")); string(text) != "one" {
		t.Errorf("a is %q", text)
	}
	if _, err := os.Lstat(b.path("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("new is still there")
	}
	// Undo of an undo is free.
	b.restore(Restore{Agent: ada, To: stateOf(after)})
	if got := tree(t, b.root); got != now {
		t.Errorf("after the undo of the undo:\n%s\nwant\n%s", got, now)
	}
}

func TestWhatOthersCouldHaveChangedIsKept(t *testing.T) {
	b := newBenchPast(t)
	for _, name := range []string{"mine", "persons", "bobs", "both", "later"} {
		b.put(name, "old")
	}
	before := b.take()
	b.apart()
	b.acts(ada, func() { b.put("mine", "ada"); b.put("later", "ada") })
	b.apart()
	b.put("persons", "person") // nobody's call is open
	b.put("later", "person, after ada")
	b.apart()
	b.acts(bob, func() { b.put("bobs", "bob") })
	b.apart()
	endA, endB := b.past.Begin(ada, b.root), b.past.Begin(bob, b.root)
	b.put("both", "who?")
	endA()
	endB()
	b.take()
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	if !slices.Equal(done.Changed, []string{"mine"}) {
		t.Errorf("changed %q", done.Changed)
	}
	var kept []string
	for _, k := range done.Kept {
		kept = append(kept, k.Path+": "+k.Why)
	}
	want := []string{"bobs: " + Foreign, "both: " + Foreign, "later: " + Foreign, "persons: " + Foreign}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %q", kept)
	}
	done, _ = b.restore(Restore{Agent: ada, To: stateOf(before), Force: true, Paths: []string{"bobs"}})
	if !slices.Equal(done.Changed, []string{"bobs"}) || len(done.Kept) > 0 {
		t.Errorf("forced: %q, %+v", done.Changed, done.Kept)
	}
	// Another process sees the same, and without notes everything is foreign.
	other := OpenPast(b.past.o)
	f := testkit.Must(other.Folder(b.root))(t)
	p, _, err := f.Plan(t.Context(), Restore{Agent: bob, To: stateOf(before)})
	if err != nil || len(p.Steps) != 0 {
		t.Errorf("%+v, %v", p.Steps, err) // bob's change was overwritten by ada's restore
	}
	keep, err := f.Keep(ada, 0, true)
	if err != nil || keep("mine") != Foreign {
		t.Error("without a step everything is foreign")
	}
}

// random makes random changes to a folder, by a plain process and by a shell.
type random struct {
	*rand.Rand
	b *pastBench
}

func (r random) name() string {
	parts := []string{"a", "b", "c", "d d", "é", "x\xff"}
	out := parts[r.IntN(len(parts))]
	for range r.IntN(3) {
		out = "d" + fmt.Sprint(r.IntN(3)) + "/" + out
	}
	return out
}

func (r random) change() {
	name := r.b.path(r.name())
	os.MkdirAll(filepath.Dir(name), 0o755) // a file may stand there: then nothing happens
	switch r.IntN(9) {
	case 0, 1, 2:
		os.WriteFile(name, []byte(strings.Repeat(fmt.Sprint(r.IntN(1000)), r.IntN(50))), 0o644)
	case 3:
		os.Rename(r.b.path(r.name()), name)
	case 4:
		os.Chmod(name, []fs.FileMode{0o600, 0o644, 0o755, 0o444}[r.IntN(4)])
	case 5:
		os.RemoveAll(name)
	case 6:
		os.Symlink(r.name(), name)
	case 7:
		exec.Command("sh", "-c", `printf %s "$1" >> "$2"; ln -f "$2" "$3"`, "sh", fmt.Sprint(r.IntN(100)), name, r.b.path(r.name())).Run()
	case 8:
		os.Remove(name)
		os.Mkdir(name, 0o755)
	}
}

// Random writes, renames, chmods, deletes and links: going back to any point gives the same
// tree.
func TestEveryPointCanBeReached(t *testing.T) {
	points, seed := 25, uint64(0)
	if testkit.SoakOn() {
		points, seed = 200, testkit.SoakSeed(t)
	}
	b := newBenchPast(t)
	r := random{rand.New(rand.NewPCG(seed, 17)), b}
	var states []PastState
	var trees []string
	for range points {
		b.acts(ada, func() {
			for range 1 + r.IntN(6) {
				r.change()
			}
		})
		states = append(states, stateOf(b.take()))
		trees = append(trees, tree(t, b.root))
	}
	for range points {
		i := r.IntN(len(states))
		done, after := b.restore(Restore{Agent: ada, To: states[i], Force: true})
		if got := tree(t, b.root); got != trees[i] || len(done.Kept) > 0 {
			t.Fatalf("point %d: kept %+v\n%s\nwant\n%s", i, done.Kept, got, trees[i])
		}
		if after.Root != states[i].Root {
			t.Fatalf("point %d: the state is another", i)
		}
	}
}

func TestEveryPointCanBeReachedSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestEveryPointCanBeReached(t)
}

// Three agents and a person write in one folder: rewinding one never changes what another
// could have written.
func TestRewindingOneLeavesTheOthers(t *testing.T) {
	agents := []id.Agent{ada, bob, carl}
	rounds, first := uint64(3), uint64(0)
	if testkit.SoakOn() {
		rounds, first = 50, testkit.SoakSeed(t)
	}
	for seed := first; seed < first+rounds; seed++ {
		b := newBenchPast(t)
		r := rand.New(rand.NewPCG(seed, 4))
		for i := range 6 {
			b.put(fmt.Sprintf("f%d", i), "begin")
		}
		var before []PastState
		before = append(before, stateOf(b.take()))
		writers := map[string]map[string]bool{} // path: everybody who wrote it
		write := func(who, path string) {
			if writers[path] == nil {
				writers[path] = map[string]bool{}
			}
			writers[path][who] = true
			b.put(path, fmt.Sprintf("%s %d", who, r.Int()))
		}
		for range 12 {
			b.apart()
			// One or two agents have calls open at the same time; the person writes between.
			first, n := r.IntN(3), 1+r.IntN(2)
			var ends []func()
			path := fmt.Sprintf("f%d", r.IntN(6))
			for i := range n {
				ends = append(ends, b.past.Begin(agents[(first+i)%3], b.root))
			}
			for i := range n {
				write(string(agents[(first+i)%3]), path)
			}
			for _, end := range ends {
				end()
			}
			b.apart()
			if r.IntN(2) == 0 {
				write("person", fmt.Sprintf("f%d", r.IntN(6)))
			}
			b.take()
		}
		for _, a := range agents {
			now := map[string]string{}
			for path := range writers {
				text, _ := os.ReadFile(b.path(path))
				now[path] = string(text)
			}
			b.restore(Restore{Agent: a, To: before[0], Commands: true})
			for path, who := range writers {
				text, _ := os.ReadFile(b.path(path))
				alone := len(who) == 1 && who[string(a)]
				if !alone && string(text) != now[path] {
					t.Fatalf("seed %d: rewinding %s changed %s, written by %v: %q, was %q", seed, a, path, who, text, now[path])
				}
				if alone && string(text) != "begin" {
					t.Errorf("seed %d: %s of %s alone is %q", seed, path, a, text)
				}
				if alone {
					delete(who, string(a))
				}
			}
		}
	}
}

func TestRewindingOneLeavesTheOthersSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestRewindingOneLeavesTheOthers(t)
}

// errKilled stands for a kill.
var errKilled = errors.New("killed")

// A restore that is killed at any point is finished at the next start.
func TestKilledRestoresAreFinished(t *testing.T) {
	rounds, first := uint64(1), uint64(0)
	if testkit.SoakOn() {
		rounds, first = 10, testkit.SoakSeed(t)
	}
	kills := 0
	for seed := first; seed < first+rounds; seed++ {
		b := newBenchPast(t)
		r := random{rand.New(rand.NewPCG(seed, 5)), b}
		for range 12 {
			r.change()
		}
		first := b.take()
		want := tree(t, b.root)
		for range 12 {
			r.change()
		}
		second := b.take()
		other := tree(t, b.root)
		for at := 0; ; at++ {
			killed := b.kill(stateOf(first), at)
			done := testkit.Must(b.past.journal.Finish(t.Context(), func(RestoreDone) error { return nil }))(t)
			if killed {
				kills++
			}
			for _, d := range done {
				if len(d.Kept) > 0 {
					t.Fatalf("seed %d, killed at %d: kept %+v", seed, at, d.Kept)
				}
			}
			got := tree(t, b.root)
			// A kill before the journal was written restores nothing.
			if got != want && !(killed && len(done) == 0 && got == other) {
				t.Fatalf("seed %d, killed at %d (%v):\n%s\nwant\n%s", seed, at, killed, got, want)
			}
			if !killed {
				break
			}
			b.restore(Restore{Agent: ada, To: stateOf(second), Force: true})
			if got := tree(t, b.root); got != other {
				t.Fatalf("seed %d, back after %d:\n%s\nwant\n%s", seed, at, got, other)
			}
		}
	}
	t.Logf("%d kills", kills)
}

// A restore ends well only after each of its steps: a file is synced before it gets its name, names are synced before the
// restore is told of, and after a step that failed the restore can be finished.
func TestNoRestoreSucceedsWithAFailedStep(t *testing.T) {
	b := newBenchPast(t)
	b.put("d/a", "old")
	first, want := b.take(), tree(t, b.root)
	b.put("d/a", "new")
	b.put("d/n", "new")
	second := b.take()
	defer func() { step.Hook = nil }()
	for n := 1; ; n++ {
		p, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(first), Force: true})
		testkit.OK(t, err)
		var steps []string
		step.Hook = func(label string) error {
			if steps = append(steps, label); len(steps) == n {
				return syscall.EIO
			}
			return nil
		}
		_, err = b.past.journal.Do(t.Context(), p, func(RestoreDone) error { return step.Hook("tell") })
		step.Hook = nil
		if len(steps) < n {
			if all := strings.Join(steps, " "); err != nil || !strings.HasSuffix(all, "write chmod sync rename remove sync tell remove sync write") || tree(t, b.root) != want {
				t.Errorf("%s: %v", all, err)
			}
			break
		}
		if failed := steps[n-1]; err == nil && (failed != "remove" || tree(t, b.root) != want) { // what is left of a temporary file is not a failure
			t.Errorf("it succeeds although step %d of %q fails", n, steps)
		}
		began := b.past.Pending()
		var more []string
		step.Hook = func(label string) error { more = append(more, label); return nil }
		testkit.Must(b.past.journal.Finish(t.Context(), func(RestoreDone) error { return step.Hook("tell") }))(t)
		step.Hook = nil
		if began && (tree(t, b.root) != want || !strings.Contains(strings.Join(more, " "), "sync tell remove sync")) {
			t.Errorf("not finished by %q after step %d of %q", more, n, steps)
		}
		b.restore(Restore{Agent: ada, To: stateOf(second), Force: true})
	}
	// A file that changes while its replacement is written is kept, and is not the agent's own afterwards.
	p, third, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(second), Force: true})
	testkit.OK(t, err)
	last := ""
	step.Hook = func(label string) error {
		if label == "sync" && last == "chmod" && b.past.Pending() {
			testkit.OK(t, os.WriteFile(b.path("d/a"), []byte("person"), 0o644))
		}
		last = label
		return nil
	}
	done, _, err := b.f.Carry(t.Context(), p, silentPast)
	if !slices.Equal(done.Kept, []RestoreLeft{{"d/a", Moved}}) || readAll(t, b.path("d/a")) != "person" || err != nil {
		t.Errorf("kept %v, %v", done.Kept, err)
	}
	if p, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(third)}); !slices.Equal(p.Kept, []RestoreLeft{{"d/a", Foreign}}) || err != nil {
		t.Errorf("then it keeps %v, %v", p.Kept, err)
	}
}

// The journal of a restore that is damaged, or leads out of the folder, is refused and touches nothing.
func TestADamagedJournalRestoresNothing(t *testing.T) {
	b := newBenchPast(t)
	b.put("f", "mine")
	before := tree(t, b.root)
	outside := filepath.Join(filepath.Dir(b.root), "outside")
	testkit.OK(t, os.WriteFile(outside, nil, 0o644))
	name := filepath.Join(b.past.journal.Dir, "x.json")
	for _, at := range []string{"f", "../outside", "%2e%2e%2foutside", "/outside", "%zz"} {
		text := fmt.Sprintf(`{"root": %q, "steps": [{"path": %q, "before": {"kind": "f"}}]}`, b.root, at)
		for _, text := range []string{text, text[1:]} {
			testkit.WriteFile(t, name, text)
			done, err := b.past.journal.Finish(t.Context(), func(RestoreDone) error { return nil })
			if good := at == "f" && text[0] == '{'; good != (err == nil) || !good && (!fault.Is(err, fault.StorageCorrupt) || len(done) > 0 || len(b.past.journal.Underway()) > 0) {
				t.Errorf("%s: %+v, %v", text, done, err)
			}
		}
	}
	if _, err := os.Stat(outside); err != nil || tree(t, b.root) != before {
		t.Errorf("%v\n%s", err, tree(t, b.root))
	}
}

func TestKilledRestoresAreFinishedSoak(t *testing.T) {
	testkit.SoakOnly(t)
	TestKilledRestoresAreFinished(t)
}

// kill restores, and is killed when that was about to do something for the nth time. false:
// it ended before.
func (b *pastBench) kill(to PastState, n int) (killed bool) {
	b.t.Helper()
	p, _, err := b.f.Plan(b.t.Context(), Restore{Agent: ada, To: to, Force: true})
	testkit.OK(b.t, err)
	step.Hook = func(string) error {
		if n--; n < 0 {
			step.Hook = nil
			panic(errKilled)
		}
		return nil
	}
	defer func() {
		step.Hook = nil
		if r := recover(); r != nil {
			killed = r == errKilled
			if !killed {
				panic(r)
			}
			// The lock of the dead is free.
			os.Remove(filepath.Join(b.past.o.Dir, "restores", "restore.lock"))
		}
	}()
	testkit.Must(b.past.journal.Do(b.t.Context(), p, func(RestoreDone) error { return nil }))(b.t)
	return false
}

// Staged, unstaged and untracked changes: git's own files are the same after rewinds.
func TestGitIsNotTouched(t *testing.T) {
	b := newBenchPast(t)
	git := func(args ...string) { testkit.Git(t, b.root, args...) }
	git("init", "-q")
	for _, name := range []string{"clean", "staged", "unstaged"} {
		b.put(name, "committed")
	}
	git("add", ".")
	git("commit", "-qm", "x")
	past := OpenPast(b.past.o) // the folder is a repository only now
	b.past = past
	b.f = testkit.Must(past.Folder(b.root))(t)
	b.put("staged", "staged")
	git("add", "staged")
	b.put("unstaged", "unstaged")
	b.put("untracked", "untracked")
	first := b.take()
	r := random{rand.New(rand.NewPCG(1, 9)), b}
	for range 20 {
		r.change()
	}
	second := b.take()
	own := gitTree(t, b.root)
	for i := range 10 {
		to := first
		if i%2 == 1 {
			to = second
		}
		b.restore(Restore{Agent: ada, To: stateOf(to), Force: true})
	}
	if got := gitTree(t, b.root); got != own {
		t.Errorf("git's files:\n%s\nwant\n%s", got, own)
	}
}

func gitTree(t *testing.T, root string) string {
	t.Helper()
	return tree(t, filepath.Join(root, ".git", "refs")) + readAll(t, filepath.Join(root, ".git", "index")) + readAll(t, filepath.Join(root, ".git", "HEAD"))
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	text := testkit.Must(os.ReadFile(path))(t)
	return string(text)
}

func TestTheHomeFolderIsRefused(t *testing.T) {
	home := t.TempDir()
	p := OpenPast(PastOptions{Dir: t.TempDir(), Home: home})
	for _, dir := range []string{home, filepath.Dir(home), "/"} {
		if _, err := p.Folder(dir); !fault.Is(err, fault.Denied) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	testkit.OK(t, os.Mkdir(filepath.Join(home, "project"), 0o700))
	testkit.Must(p.Folder(filepath.Join(home, "project")))(t)
}

func TestNothingIsReadOrWrittenThroughLinks(t *testing.T) {
	b := newBenchPast(t)
	outside := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(outside, "x"), []byte("outside"), 0o600))
	b.put("d/x", "inside")
	before := b.take()
	b.acts(ada, func() {
		os.RemoveAll(b.path("d"))
		os.Symlink(outside, b.path("d"))
	})
	p, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(before), Force: true})
	testkit.OK(t, err)
	// Between plan and restore a folder became a link.
	b2 := newBenchPast(t)
	b2.put("d/x", "inside")
	was := b2.take()
	b2.put("d/x", "other")
	plan, _, err := b2.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(was), Force: true})
	testkit.OK(t, err)
	os.RemoveAll(b2.path("d"))
	os.Symlink(outside, b2.path("d"))
	done, _, err := b2.f.Carry(t.Context(), plan, silentPast)
	if err != nil || len(done.Kept) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, _, err := b.f.Carry(t.Context(), p, silentPast); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, b.path("d/x")); got != "inside" {
		t.Errorf("d/x is %q", got)
	}
	if got := readAll(t, filepath.Join(outside, "x")); got != "outside" {
		t.Errorf("outside is %q", got)
	}
}

func TestNoSpaceIsSaid(t *testing.T) {
	b := newBenchPast(t)
	b.put("a", "1")
	// A file where the folder of packs would be.
	testkit.OK(t, os.MkdirAll(b.past.o.Dir, 0o700))
	testkit.OK(t, os.WriteFile(filepath.Join(b.past.o.Dir, "packs"), nil, 0o600))
	if _, err := b.f.Take(t.Context(), nil); err == nil || fault.CodeOf(err) == fault.Failed {
		t.Errorf("%v", err)
	}
	testkit.OK(t, os.Remove(filepath.Join(b.past.o.Dir, "packs")))
	taken := b.take()
	if taken.Step != 1 {
		t.Errorf("%+v", taken)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.f.Take(ctx, nil); err == nil {
		t.Error("a context that ended")
	}
}

// A person changed a file, and a tool overwrites it: what the person wrote is kept, and the
// path is foreign to the agent.
func TestWhatAToolOverwritesIsKeptBefore(t *testing.T) {
	b := newBenchPast(t)
	b.put("d/a", "old")
	b.put("d/b", "old")
	b.put("d/c", "old")
	before := b.take()
	b.apart()
	b.put("d/a", "person")
	b.apart()
	b.acts(ada, func() { // two calls, with no state between them
		b.writes(ada, "d/c", "ada")
		testkit.OK(t, b.f.Saw(t.Context(), ada, "d/c", []byte("ada")))
		b.writes(ada, "d/c", "ada again")
	})
	b.acts(ada, func() {
		for name, now := range map[string]string{"d/a": "person", "d/b": "old"} {
			testkit.OK(t, b.f.Saw(t.Context(), ada, name, []byte(now)))
			b.writes(ada, name, "ada")
		}
	})
	b.take()
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(before)})
	if !slices.Equal(done.Changed, []string{"d/b", "d/c"}) || len(done.Kept) != 1 || done.Kept[0] != (RestoreLeft{Path: "d/a", Why: Foreign}) {
		t.Errorf("%+v", done)
	}
	found, _, err := b.f.steps(before.Step)
	if err != nil || len(found) < 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	// The person's text is a state of the folder.
	done, _ = b.restore(Restore{Agent: ada, To: PastState{Root: found[0].Root, Step: found[0].N}, Paths: []string{"d/a"}, Force: true})
	if text := readAll(t, b.path("d/a")); text != "person" {
		t.Errorf("%q, %+v", text, done)
	}
}

// Ramet's own files are hidden by their real names, be they reached over links, be they not there
// yet.
func TestOwnFilesAreHiddenByTheirRealNames(t *testing.T) {
	top := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	in := func(name string) string { return filepath.Join(top, name) }
	testkit.OK(t, errors.Join(os.MkdirAll(in("real/there"), 0o755), os.Symlink("real", in("link")), os.WriteFile(in("elsewhere"), nil, 0o644),
		os.Symlink(in("elsewhere"), in("real/db")), os.WriteFile(in("real/db-shm"), nil, 0o644), os.Symlink("nowhere", in("real/broken"))))
	p := OpenPast(PastOptions{Dir: in("link/there") + "/", Hide: []string{in("link/db"), in("link/db-shm"), in("link/db-wal"), in("link/broken"), in("link")}})
	want := []string{in("real/there"), in("elsewhere"), in("real/db-shm"), in("real/db-wal"), in("link/broken"), in("real")}
	if got := p.hidden(); !slices.Equal(got, want) {
		t.Errorf("hidden are %q, not %q", got, want)
	}
}
