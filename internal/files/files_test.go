package files

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
)

// memory is folders in memory.
type memory map[chain.Hash]Folder

func (m memory) Folder(h chain.Hash) (Folder, error) {
	f, ok := m[h]
	if !ok {
		return nil, fault.New(fault.NotFound, "no folder")
	}
	return f, nil
}

func (m memory) put(f Folder) chain.Hash {
	m[f.Hash()] = f
	return f.Hash()
}

func file(name, content string) Node {
	return Node{Name: name, Kind: File, Mode: 0o644, Size: int64(len(content)), Hash: chain.Sum([]byte(content))}
}

// The bytes of folders never change: these hashes stand in histories.
func TestGoldenHashes(t *testing.T) {
	sub := Folder{file("b", "two"), {Name: "odd\xff", Kind: Link, Size: 4, Hash: chain.Sum([]byte("../x"))}}
	all := Folder{file("a", "one"), {Name: "d", Kind: Dir, Mode: 0o755, Hash: sub.Hash()}, {Name: "p", Kind: Other}, {Name: "r", Kind: Repo},
		{Name: "s", Kind: File, Mode: 0o4755, Size: 7}}
	for name, c := range map[string]struct {
		f    Folder
		want string
	}{
		"empty": {Folder{}, "078abaf303581618a681cd2708dc5caf70d8b206e17338c7679f0b2cdfe8a34a"},
		"sub":   {sub, "78c784b1908471f0b033d76ce5e6c7ae8f2839c790d5378c29263cc07fb43b84"},
		"all":   {all, "aeb4a4f08fbc9b5e65be5c1c1beff171e3c2f30567f1f7f0fd62870b9e9386a4"},
	} {
		if got := c.f.Hash().String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		again, err := ParseFolder(c.f.Bytes())
		if err != nil || !slices.Equal(again, c.f) {
			t.Errorf("%s: %v, %v", name, again, err)
		}
	}
}

func TestWhatLeadsElsewhereIsRefused(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", "a\x00", ".git", ".GIT", ".git.", "git~1"} {
		if _, err := ParseFolder((Folder{file(name, "x")}).Bytes()); !fault.Is(err, fault.StorageCorrupt) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := ParseFolder((Folder{file("b", ""), file("a", "")}).Bytes()); !fault.Is(err, fault.StorageCorrupt) {
		t.Errorf("out of order: %v", err)
	}
	for _, p := range []string{"", "/x", "..", "../x", "a/../../x", "a\x00"} {
		if _, err := CheckPath(p); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestDiffReadsOnlyWhatDiffers(t *testing.T) {
	m := memory{}
	same := m.put(Folder{file("x", "x")})
	dir := func(name string, h chain.Hash) Node { return Node{Name: name, Kind: Dir, Mode: 0o755, Hash: h} }
	before := m.put(Folder{file("a", "1"), dir("gone", m.put(Folder{file("in", "1")})), dir("same", same), file("turns", "f")})
	after := m.put(Folder{file("a", "2"), file("b", "new"), dir("same", same), dir("turns", m.put(Folder{file("in", "2")}))})
	delete(m, same) // it is never read
	changes, err := Diff(m, before, after)
	var got []string
	for _, c := range changes {
		got = append(got, c.Verb()+" "+c.Path)
	}
	want := []string{"changed a", "added b", "removed gone", "removed gone/in", "replaced turns", "added turns/in"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if n, err := Find(m, after, "turns/in"); err != nil || n == nil || *n != file("in", "2") {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := Find(m, after, "a/in"); err != nil || n != nil {
		t.Errorf("%v, %v", n, err)
	}
}

func TestDeltasGiveTheWhole(t *testing.T) {
	var base, now Folder
	for i := range 40 {
		base = append(base, file(fmt.Sprintf("f%02d", i), "old"))
		switch {
		case i%7 == 0: // gone
		case i%5 == 0:
			now = append(now, file(fmt.Sprintf("f%02d", i), "new"))
		default:
			now = append(now, base[i])
		}
	}
	now = append(now, file("z", "added"))
	delta := Delta(base, now)
	if h, ok := DeltaBase(delta); !ok || h != base.Hash() {
		t.Error(h, ok)
	}
	got, err := ApplyDelta(base, delta)
	if err != nil || !bytes.Equal(got.Bytes(), now.Bytes()) {
		t.Errorf("%v, %v", got, err)
	}
	if len(delta) > len(now.Bytes())/2 {
		t.Errorf("%d bytes of %d", len(delta), len(now.Bytes()))
	}
}

func FuzzParseFolder(f *testing.F) {
	f.Add((Folder{file("a", "1")}).Bytes())
	f.Add(Delta(Folder{file("a", "1")}, Folder{file("b", "1")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if folder, err := ParseFolder(b); err == nil && !bytes.Equal(folder.Bytes(), b) {
			t.Errorf("%q is read and written otherwise", b)
		}
		ApplyDelta(Folder{file("a", "1")}, b)
	})
}
