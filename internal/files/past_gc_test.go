package files

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func TestGCDropsWhatOnlyOldStatesName(t *testing.T) {
	b := newBenchPast(t)
	var states []Taken
	for _, text := range []string{"one", "two", "three", "four"} {
		b.put("a", text)
		b.put("same", "same")
		for i := range 10 {
			b.put("d/"+string(rune('a'+i)), text) // a folder that is kept as a delta
		}
		states = append(states, b.take())
	}
	now := time.Now()
	var named []Named
	for i, s := range states {
		named = append(named, Named{Root: s.Root, At: now.Add(time.Duration(i-4) * time.Hour)})
	}
	limits := PastLimits{Since: now.Add(-150 * time.Minute), Young: now.Add(time.Hour)}
	plan, err := b.past.GC(t.Context(), named, limits, true)
	if err != nil || plan.States != 2 || plan.Objects == 0 || plan.Bytes == 0 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if got, err := b.past.store.Get(t.Context(), chain.Sum([]byte("one"))); err != nil || string(got) != "one" {
		t.Errorf("a plan drops nothing: %q, %v", got, err)
	}
	done, err := b.past.GC(t.Context(), named, limits, false)
	if err != nil || done != plan {
		t.Fatalf("%+v, %v; the plan was %+v", done, err, plan)
	}
	for text, there := range map[string]bool{"one": false, "two": false, "three": true, "four": true, "same": true} {
		if _, err := b.past.store.Get(t.Context(), chain.Sum([]byte(text))); (err == nil) != there {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, s := range states[2:] {
		if err := List(b.past.store, s.Root, func(string, Node) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	// Another process, with an index of before, keeps again what it names.
	b.put("a", "one")
	if taken := b.take(); taken.Step != 5 {
		t.Errorf("%+v", taken)
	}
	testkit.Must(b.past.store.Get(t.Context(), chain.Sum([]byte("one"))))(t)
	// What is young stays, and what is over the limit goes, the oldest first.
	limits = PastLimits{Most: 1, Young: now.Add(-time.Hour)}
	if s, err := b.past.GC(t.Context(), named, limits, false); err != nil || s.Objects != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	limits.Young = now.Add(time.Hour)
	if s, err := b.past.GC(t.Context(), named, limits, false); err != nil || s.Objects == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(states[3]), Force: true}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a state that was dropped: %v", err)
	}
}

func TestForgottenContentsAreGoneFromTheDisk(t *testing.T) {
	b := newBenchPast(t)
	b.put("key", "hunter2-hunter2-hunter2")
	b.put("other", "other")
	state := b.take()
	h := chain.Sum([]byte("hunter2-hunter2-hunter2"))
	n, err := b.past.Forget(t.Context(), map[chain.Hash]bool{h: true})
	if err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := b.past.store.Get(t.Context(), h); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	testkit.OK(t, os.Remove(b.path("key")))
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(state), Force: true})
	if len(done.Kept) != 1 || done.Kept[0].Path != "key" {
		t.Errorf("%+v", done)
	}
}

// Whoever had the contents alone gives them back.
func TestContentsAreLockedOnlyWhileTheyAreDropped(t *testing.T) {
	b := newBenchPast(t)
	b.put("a", "one")
	b.take()
	other := flock.New(filepath.Join(b.past.o.Dir, "contents.lock"))
	release := testkit.Must(b.past.alone(t.Context()))(t)
	if ok, err := other.TryLock(); err != nil || ok {
		t.Errorf("locked twice: %v, %v", ok, err)
	}
	release()
	if ok, err := other.TryLock(); err != nil || !ok {
		t.Errorf("still locked: %v, %v", ok, err)
	}
	testkit.OK(t, other.Unlock())
}
