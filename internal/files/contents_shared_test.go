package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

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
