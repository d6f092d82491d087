package files

import (
	"fmt"
	"math/rand/v2"
	"os"
	"ramet/internal/base/step"
	"ramet/internal/launch/sandbox"
	"ramet/internal/testkit"
	"slices"
	"strings"
	"testing"
)

// While a command of an agent runs a person changes files: none of them is touched, and all are
// listed, unless it is said that they are the command's.
func TestWhatChangedWhileACommandRanIsKept(t *testing.T) {
	b := newBenchPast(t)
	for _, name := range []string{"f", "gone", "tool", "tool, then person"} {
		b.put(name, "old")
	}
	before := b.take()
	b.apart()
	b.acts(ada, func() {
		b.put("two", "command")
		b.put("notes.txt", "person")
		b.put("f", "person")
		os.Remove(b.path("gone"))
		b.put("new/x", "person")
		b.writes(ada, "tool", "ada")
		b.writes(ada, "tool, then person", "ada")
		b.put("tool, then person", "person")
	})
	now := tree(t, b.root)
	b.take()
	done, after := b.restore(Restore{Agent: ada, To: stateOf(before)})
	want := []RestoreLeft{{Path: "f", Why: Running}, {Path: "gone", Why: Running}, {Path: "new/x", Why: Running},
		{Path: "notes.txt", Why: Running}, {Path: "tool, then person", Why: Running}, {Path: "two", Why: Running},
		{Path: "new", Why: Occupied}}
	if !slices.Equal(done.Changed, []string{"tool"}) || !slices.Equal(done.Kept, want) {
		t.Errorf("changed %q, kept %+v", done.Changed, done.Kept)
	}
	b.put("tool", "ada")
	if got := tree(t, b.root); got != now {
		t.Errorf("%s\nwant\n%s", got, now)
	}
	b.put("tool", "old")
	b.apart()
	b.put("f", "person, later")
	done, _ = b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	if !slices.Equal(done.Kept, []RestoreLeft{{Path: "f", Why: Foreign}}) || len(done.Changed) != 6 {
		t.Errorf("changed %q, kept %+v", done.Changed, done.Kept)
	}
	// A restore is sure of what it did: it can be taken back without a word.
	done, _ = b.restore(Restore{Agent: ada, To: stateOf(after), Paths: []string{"notes.txt", "new", "gone"}})
	if len(done.Kept) > 0 || readAll(t, b.path("notes.txt")) != "person" {
		t.Errorf("kept %+v", done.Kept)
	}
}

// An agent's tools and commands, another agent and a person write at random, all at the same time;
// some files hold keys, some are ignored, some are held open. A restore changes nothing that
// anybody but the agent's tools could have written, and lists it.
func TestARestoreTouchesOnlyWhatToolsWrote(t *testing.T) {
	for seed := range uint64(8) {
		b := newBenchPast(t)
		r := rand.New(rand.NewPCG(seed, 37))
		b.past = OpenPast(PastOptions{Dir: b.past.o.Dir, Env: b.past.o.Env, Secret: func(c []byte) bool { return strings.Contains(string(c), "KEY") }})
		var err error
		b.f = testkit.Must(b.past.Folder(b.root))(t)
		b.put(".gitignore", "*.log\n")
		var names []string
		for i := range 12 {
			name := fmt.Sprintf("d%d/f%d%s", i%3, i, []string{"", ".log", ".env"}[i%3])
			names = append(names, name)
			if r.IntN(3) > 0 {
				b.put(name, "begin")
			}
		}
		open := testkit.Must(os.OpenFile(b.path("held"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))(t)
		defer open.Close()
		before := b.take()
		other := map[string]bool{"held": true} // paths that others than ada's tools wrote
		lost := map[string]bool{}              // of these, what they wrote was removed before ada's tools wrote again
		for round := range 6 {
			b.acts(ada, func() {
				for range 6 {
					name, text := names[r.IntN(len(names))], fmt.Sprintf("%d %s", r.Int(), []string{"", "KEY"}[r.IntN(2)])
					switch old, err := os.ReadFile(b.path(name)); r.IntN(5) {
					case 0, 1, 2:
						if err == nil {
							b.f.Saw(t.Context(), ada, name, old)
						} else if other[name] {
							lost[name] = true
							delete(other, name)
						}
						b.writes(ada, name, text)
					case 3:
						b.put(name, text)
						other[name] = true
					case 4:
						os.Remove(b.path(name))
						other[name] = true
					}
				}
				fmt.Fprintln(open, "person", round)
			})
			if r.IntN(2) == 0 {
				b.take()
			}
		}
		was := map[string]string{}
		for name := range other {
			was[name] = contentOf(b.path(name))
		}
		p, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(before)})
		testkit.OK(t, err)
		fmt.Fprintln(open, "person, late")
		was["held"] += "person, late\n"
		done, _, err := b.f.Carry(t.Context(), p, silentPast)
		testkit.OK(t, err)
		for name, want := range was {
			if got := contentOf(b.path(name)); got != want {
				t.Errorf("seed %d: %s is %q, was %q: changed %q, kept %+v", seed, name, got, want, done.Changed, done.Kept)
			}
		}
		for _, name := range names {
			if now := contentOf(b.path(name)); !other[name] && !lost[name] && !strings.HasSuffix(name, ".log") && now != "begin" && now != "" && !strings.Contains(now, "KEY") {
				t.Errorf("seed %d: %s of ada's tools alone is %q: kept %+v", seed, name, now, done.Kept)
			}
		}
	}
}

func contentOf(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// Another process takes states of the folder at any point of a restore, while a call of its agent is
// running: what the restore does stays the work of its own agent.
func TestARestoreIsNobodyElsesChange(t *testing.T) {
	for at := 0; ; at++ {
		b := newBenchPast(t)
		b.put("d/a", "old")
		b.put("turns", "file")
		before := b.take()
		b.acts(ada, func() {
			b.put("d/a", "new")
			os.Remove(b.path("turns"))
			b.put("turns/c", "new")
		})
		changed := b.take()
		bobs := testkit.Must(OpenPast(b.past.o).Folder(b.root))(t)
		plan, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(before), Force: true})
		testkit.OK(t, err)
		end := bobs.past.Begin(bob, b.root)
		n := 0
		step.Hook = func(string) error {
			if n++; n == at+1 {
				step.Hook = nil
				end := bobs.past.Begin(bob, b.root)
				if _, err := bobs.Take(t.Context(), nil); err != nil {
					t.Error(err)
				}
				end()
			}
			return nil
		}
		_, err = b.past.journal.Do(t.Context(), plan, func(d RestoreDone) error {
			step.Hook = nil
			_, err := b.f.taken(t.Context(), d)
			return err
		})
		if end(); err != nil {
			t.Fatal(err)
		}
		done, _ := b.restore(Restore{Agent: ada, To: stateOf(changed)})
		if len(done.Kept) > 0 || len(done.Changed) != 2 {
			t.Errorf("at %d: changed %q, kept %+v", at, done.Changed, done.Kept)
		}
		if n <= at {
			break
		}
	}
}

// A process whose walk began before a restore does not note what it saw of the time before.
func TestAWalkThatIsLateNotesNothingOld(t *testing.T) {
	b := newBenchPast(t)
	b.put("a", "old")
	b.put("d/b", "old")
	before := b.take()
	b.acts(ada, func() { b.put("a", "new"); b.put("d/b", "new") })
	changed := b.take()
	bobs := testkit.Must(OpenPast(b.past.o).Folder(b.root))(t)
	for range 3 {
		b.apart() // what changed long enough ago is not read a second time
	}
	testkit.Must(bobs.Take(t.Context(), nil))(t)
	once := false
	if _, err := bobs.Take(t.Context(), func() bool { // asked before d is entered, when a was seen
		if !once {
			once = true
			b.restore(Restore{Agent: ada, To: stateOf(before), Force: true})
		}
		return false
	}); err != nil {
		t.Fatal(err)
	}
	if done, _ := b.restore(Restore{Agent: ada, To: stateOf(changed)}); !once || len(done.Kept) > 0 {
		t.Errorf("kept %+v", done.Kept)
	}
}

// A command of an agent had an overlay: exactly what was applied is the agent's, and what changed meanwhile is not.
func TestAnOverlaysChangesHaveOneAuthor(t *testing.T) {
	b := newBenchPast(t)
	for _, name := range []string{"f", "gone", "person", "both", "dir/x", "early"} {
		b.put(name, "old")
	}
	before := b.take()
	b.apart()
	b.put("early", "person") // after the last state, and before the command replaces it
	end := b.past.Begin(ada, b.root)
	b.f.Overlaid(ada)
	b.put("person", "person")
	testkit.OK(t, b.f.Replaced(t.Context(), ada, []string{"f", "gone", "early", "dir/x"}))
	b.put("f", "command")
	b.put("early", "command")
	b.put("new/deep/file", "command")
	b.put("both", "command")
	os.Remove(b.path("gone"))
	at := func(name string) int64 { return testkit.Must(lookAt(b.path(name)))(t).Ctime }
	b.f.Applied(ada, []sandbox.OverlayChange{{Path: "f", At: at("f")}, {Path: "both", At: at("both")}, {Path: "early", At: at("early")}, {Path: "gone", At: at("."), Removed: true},
		{Path: "new", At: at("new/deep/file"), Whole: true}})
	end()
	b.apart()
	b.put("both", "person")
	b.put("new/person", "person")
	b.take()
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(before)})
	want := []RestoreLeft{{Path: "both", Why: Foreign}, {Path: "early", Why: Foreign}, {Path: "new", Why: Foreign}, {Path: "new/person", Why: Foreign}, {Path: "person", Why: Foreign}}
	if slices.Sort(done.Changed); !slices.Equal(done.Changed, []string{"f", "gone", "new/deep", "new/deep/file"}) || !slices.Equal(done.Kept, want) {
		t.Errorf("changed %q, kept %+v", done.Changed, done.Kept)
	}
	if readAll(t, b.path("early")) != "command" || readAll(t, b.path("f")) != "old" || readAll(t, b.path("person")) != "person" {
		t.Error("not what is kept or restored")
	}
}
