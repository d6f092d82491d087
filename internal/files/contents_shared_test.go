package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// memoryShare shares packs in memory; fail makes the call of that name fail.
type memoryShare struct {
	packs map[string][]byte
	fail  string
}

func (m *memoryShare) err(call string) error {
	if m.fail == call {
		return fault.New(fault.StorageUnreachable, "%s fails", call)
	}
	return nil
}

func (m *memoryShare) Names(context.Context) ([]string, error) {
	return slices.Collect(maps.Keys(m.packs)), m.err("names")
}

func (m *memoryShare) Pack(_ context.Context, name string) ([]byte, error) {
	if data, ok := m.packs[name]; ok {
		return data, m.err("pack")
	}
	return nil, fault.New(fault.NotFound, "no pack %s", name)
}

func (m *memoryShare) Put(_ context.Context, name string, data []byte) error {
	if err := m.err("put"); err != nil {
		return err
	}
	m.packs[name] = data
	return nil
}

func (m *memoryShare) Drop(_ context.Context, name string) error {
	delete(m.packs, name)
	return m.err("drop")
}

// What one host keeps is there on another after a Pull, also what was kept before it shared.
func TestPacksReachOtherHosts(t *testing.T) {
	share := &memoryShare{packs: map[string][]byte{}}
	here, there := NewContents(t.TempDir(), noGit), NewContents(t.TempDir(), noGit)
	keep(t, here, "before sharing")
	here.Share(share)
	there.Share(share)
	keep(t, here, "while sharing")
	testkit.OK(t, there.Pull(t.Context()))
	for _, text := range []string{"before sharing", "while sharing"} {
		if got, err := there.Get(t.Context(), chain.Sum([]byte(text))); err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if n, m := len(packs(t, here)), len(packs(t, there)); n != 2 || m != 2 || len(share.packs) != 2 {
		t.Errorf("%d packs here, %d there, %d shared", n, m, len(share.packs))
	}
	share.packs["../evil.pack"] = []byte("no name of a pack")
	if err := there.Pull(t.Context()); err != nil || len(packs(t, there)) != 2 {
		t.Errorf("a pack of a strange name: %v, %v", err, packs(t, there))
	}
	delete(share.packs, "../evil.pack")
	if _, err := here.Drop(func(chain.Hash) bool { return false }, time.Now().Add(time.Hour)); err != nil || len(share.packs) != 0 {
		t.Errorf("dropped here, and %d packs are still shared: %v", len(share.packs), err)
	}
}

// No error of the shared storage is lost: a state is only named once others can read it.
func TestErrorsOfSharedPacksAreReported(t *testing.T) {
	for _, call := range []string{"names", "put"} {
		share := &memoryShare{packs: map[string][]byte{}, fail: call}
		s := NewContents(t.TempDir(), noGit)
		s.Share(share)
		commit := func() error {
			b := s.Begin("")
			testkit.OK(t, b.Add(chain.Sum([]byte(call)), []byte(call)))
			_, err := b.Commit()
			return err
		}
		if err := commit(); !fault.Is(err, fault.StorageUnreachable) {
			t.Errorf("%s fails, and the commit says %v", call, err)
		}
	}
	for _, call := range []string{"names", "pack"} {
		share := &memoryShare{packs: map[string][]byte{}}
		here, there := NewContents(t.TempDir(), noGit), NewContents(t.TempDir(), noGit)
		here.Share(share)
		there.Share(share)
		keep(t, here, "one")
		share.fail = call
		if err := there.Pull(t.Context()); !fault.Is(err, fault.StorageUnreachable) {
			t.Errorf("%s fails, and the pull says %v", call, err)
		}
	}
}

// Folders that follow each other are kept as deltas, but never more than mostDeltas in a row, and
// each can be read.
func TestDeltasOfFoldersAreBounded(t *testing.T) {
	s := NewContents(t.TempDir(), noGit)
	var states []Folder
	for n := range 3 * mostDeltas {
		folder := make(Folder, 4*leastDelta)
		for i := range folder {
			folder[i] = Node{Name: fmt.Sprintf("%03d", i), Kind: File, Mode: 0o644, Size: 1, Hash: chain.Sum([]byte{byte(i)})}
		}
		folder[0].Size = int64(n + 2)
		var before Folder
		if n > 0 {
			before = states[n-1]
		}
		b := s.Begin("")
		testkit.Must(b.AddFolder(folder, before))(t)
		testkit.Must(b.Commit())(t)
		states = append(states, folder)
	}
	deepest, whole := byte(0), 0
	for n, f := range states {
		if got, err := NewContents(s.dir, noGit).Folder(f.Hash()); err != nil || string(got.Bytes()) != string(f.Bytes()) {
			t.Fatalf("state %d: %v", n, err)
		}
		depth, ok := s.depth(f.Hash())
		if !ok {
			t.Fatalf("state %d has no depth", n)
		}
		if deepest = max(deepest, depth); depth == 0 {
			whole++
		}
	}
	if deepest != mostDeltas || whole != 3 {
		t.Errorf("the deepest of %d states is %d deltas from a whole one (want %d), %d are whole (want 3)", len(states), deepest, mostDeltas, whole)
	}
	// What is kept can be read after all else was dropped: its bases stay.
	last := states[len(states)-1]
	if dropped, err := s.Drop(func(h chain.Hash) bool { return h == last.Hash() }, time.Now().Add(time.Hour)); err != nil || dropped.Objects == 0 {
		t.Fatalf("%+v, %v", dropped, err)
	}
	if got, err := NewContents(s.dir, noGit).Folder(last.Hash()); err != nil || string(got.Bytes()) != string(last.Bytes()) {
		t.Errorf("the state that is kept: %v", err)
	}
}

// Contents that only git keeps are read from there, and Oids names them.
func TestContentsOfGit(t *testing.T) {
	const oid = "0123456789abcdef0123456789abcdef01234567"
	text := "from git"
	read := func(_ context.Context, repo, id string) ([]byte, error) {
		if repo != "/repo" || id != oid {
			return nil, errors.New("unknown")
		}
		return []byte(text), nil
	}
	s := NewContents(t.TempDir(), read)
	b := s.Begin("/repo")
	testkit.OK(t, b.AddGit(chain.Sum([]byte(text)), oid, int64(len(text))))
	testkit.OK(t, b.Add(chain.Sum([]byte("ours")), []byte("ours")))
	testkit.Must(b.Commit())(t)
	fresh := NewContents(s.dir, read)
	oids, err := fresh.Oids()
	if err != nil || len(oids) != 1 || oids[chain.Sum([]byte(text))] != oid {
		t.Errorf("oids %v, %v", oids, err)
	}
	if got, err := fresh.Get(t.Context(), chain.Sum([]byte(text))); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
	if whole, kept, ok := fresh.Size(chain.Sum([]byte(text))); whole != int64(len(text)) || kept != 0 || !ok {
		t.Errorf("size %d, kept %d, %v", whole, kept, ok)
	}
	if whole, kept, ok := fresh.Size(chain.Sum([]byte("ours"))); whole != 4 || kept == 0 || !ok {
		t.Errorf("size %d, kept %d, %v", whole, kept, ok)
	}
}

func noGit(context.Context, string, string) ([]byte, error) { return nil, errors.New("no git here") }

func keep(t *testing.T, s *Contents, texts ...string) {
	t.Helper()
	b := s.Begin("")
	for _, text := range texts {
		testkit.OK(t, b.Add(chain.Sum([]byte(text)), []byte(text)))
	}
	testkit.Must(b.Commit())(t)
}

func packs(t *testing.T, s *Contents) []string {
	t.Helper()
	found := testkit.Must(filepath.Glob(filepath.Join(s.PackDir(), "*")))(t)
	return found
}

func TestWhatIsKeptIsThereForEverybody(t *testing.T) {
	s := NewContents(t.TempDir(), noGit)
	other := NewContents(s.dir, noGit) // another process
	keep(t, s, "one", "two", "one", strings.Repeat("long ", 10_000))
	keep(t, s, "one") // nothing new, no pack
	if n := len(packs(t, s)); n != 1 {
		t.Errorf("%d packs", n)
	}
	for _, text := range []string{"one", "two", strings.Repeat("long ", 10_000)} {
		got, err := other.Get(t.Context(), chain.Sum([]byte(text)))
		if err != nil || string(got) != text {
			t.Errorf("%.10q: %v", got, err)
		}
	}
	if _, err := other.Get(t.Context(), chain.Sum([]byte("never"))); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	b := s.Begin("")
	testkit.OK(t, b.Add(chain.Sum([]byte("dropped")), []byte("dropped")))
	b.Drop()
	if n := len(packs(t, s)); n != 1 {
		t.Errorf("%d files are left", n)
	}
}

// A pack that is cut or changed anywhere gives no wrong content.
func TestADamagedPackIsNoticed(t *testing.T) {
	texts := []string{"one", "two, which is longer", "three"}
	s := NewContents(t.TempDir(), noGit)
	keep(t, s, texts...)
	path := packs(t, s)[0]
	whole := testkit.Must(os.ReadFile(path))(t)
	try := func(what string, damaged []byte) {
		t.Helper()
		testkit.OK(t, os.WriteFile(path, damaged, 0o600))
		fresh := NewContents(s.dir, noGit)
		for _, text := range texts {
			got, err := fresh.Get(t.Context(), chain.Sum([]byte(text)))
			if err == nil && string(got) != text {
				t.Fatalf("%s: %q", what, got)
			}
			if err != nil && fault.CodeOf(err) == fault.Failed {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	for n := range whole {
		try("cut", whole[:n])
		flipped := append([]byte(nil), whole...)
		flipped[n] ^= 0x40
		try("flipped", flipped)
	}
}

func TestHalfMadePacksAreSweptWhenTheyAreOld(t *testing.T) {
	s := NewContents(t.TempDir(), noGit)
	keep(t, s, "one")
	half := filepath.Join(s.PackDir(), ".pack-123")
	testkit.OK(t, os.WriteFile(half, []byte("half"), 0o600))
	s.Sweep(time.Now().Add(-time.Hour))
	if _, err := os.Stat(half); err != nil {
		t.Error("somebody may be making it")
	}
	s.Sweep(time.Now().Add(time.Hour))
	if _, err := os.Stat(half); err == nil {
		t.Error("it is left")
	}
}

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
