package files

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
	"ramet/internal/testkit"
)

// pastLargest is the size up to which contents are kept in these tests.
const pastLargest = 1 << 10

// newSmallBench makes a bench that keeps no large contents, and none with "secret" in them.
func newSmallBench(t *testing.T) *pastBench {
	t.Helper()
	b := newBenchPast(t)
	b.past = OpenPast(PastOptions{Dir: b.past.o.Dir, Env: b.past.o.Env, Largest: pastLargest, Most: 16 << 10,
		Secret: func(content []byte) bool { return bytes.Contains(content, []byte("secret")) }})
	b.f = testkit.Must(b.past.Folder(b.root))(t)
	return b
}

// inTrash returns the contents of files in the trash.
func (b *pastBench) inTrash() map[string]bool {
	b.t.Helper()
	all := testkit.Must(b.past.trash.List())(b.t)
	out := map[string]bool{}
	for _, e := range all {
		if content, err := os.ReadFile(filepath.Join(e.Place, e.TrashAct.ID, strconv.Itoa(e.N))); err == nil {
			out[string(content)] = true
		}
	}
	return out
}

// inFolder returns the contents of files in the folder.
func (b *pastBench) inFolder() map[string]bool {
	b.t.Helper()
	out := map[string]bool{}
	filepath.WalkDir(b.root, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if content, err := os.ReadFile(p); err == nil {
				out[string(content)] = true
			}
		}
		return nil
	})
	return out
}

func TestWhatIsNotKeptGoesToTheTrashAndComesBack(t *testing.T) {
	b := newSmallBench(t)
	huge := strings.Repeat("huge ", pastLargest)
	b.put("huge", huge)
	b.put("small", "small")
	before := b.take()
	b.apart()
	b.acts(ada, func() {
		b.put("huge", huge+"and more")
		b.put("new", huge+"and new")
		b.put("dir/.env", "secret")
		b.put("small", "changed")
		os.Chmod(b.path("new"), 0o751)
	})
	after := b.take()
	changed := tree(t, b.root)
	plan, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(before), Commands: true})
	if err != nil || !slices.Equal(plan.Trashes(), []string{"dir/.env", "new"}) {
		t.Fatalf("%q, %v", plan.Trashes(), err) // huge has nothing to go back to
	}
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	if len(done.Trashed) != 2 || done.Trashed[0].Agent != ada || done.Trashed[0].Root != b.root {
		t.Errorf("%+v", done.Trashed)
	}
	if _, err := os.Lstat(b.path("dir")); err == nil {
		t.Error("dir is still there")
	}
	done, _ = b.restore(Restore{Agent: ada, To: stateOf(after), Commands: true})
	if got := tree(t, b.root); got != changed || len(done.Kept) > 0 {
		t.Errorf("kept %+v\n%s\nwant\n%s", done.Kept, got, changed)
	}
	if left, err := b.past.trash.List(); err != nil || len(left) > 0 {
		t.Errorf("in the trash: %+v, %v", left, err)
	}
	if names, _ := os.ReadDir(filepath.Join(b.past.trash.Dir, "records")); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}

func TestForgottenContentsAreGoneFromTheTrash(t *testing.T) {
	b := newSmallBench(t)
	before := b.take()
	b.apart()
	b.acts(ada, func() { b.put("a", "secret one"); b.put("b", "secret two") })
	b.take()
	b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	n, err := b.past.Forget(t.Context(), map[chain.Hash]bool{chain.Sum([]byte("secret one")): true})
	if err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	if got := b.inTrash(); len(got) != 1 || !got["secret two"] {
		t.Errorf("%v", got)
	}
}

// A content that the store cannot read any more is not taken for stored.
func TestADamagedPackSavesNothing(t *testing.T) {
	b := newSmallBench(t)
	before := b.take()
	b.apart()
	b.acts(ada, func() { b.put("a", strings.Repeat("kept ", 20)) })
	b.take()
	packs := testkit.Must(filepath.Glob(filepath.Join(b.past.store.PackDir(), "*.pack")))(t)
	_, kept, _ := b.past.store.Size(chain.Sum([]byte(strings.Repeat("kept ", 20))))
	for _, name := range packs {
		whole := testkit.Must(os.ReadFile(name))(t)
		if at := bytes.Index(whole, []byte("kept ")); at >= 0 && kept > 0 {
			whole[at] ^= 0xff
			testkit.OK(t, os.WriteFile(name, whole, 0o600))
		}
	}
	b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	if got := b.inTrash(); len(got) != 1 {
		t.Errorf("in the trash: %v", got)
	}
}

// A trash that cannot be written stops the restore before it touches anything, and so does a link
// that a clone brought.
func TestARestoreWithoutATrashIsRefused(t *testing.T) {
	b := newSmallBench(t)
	before := b.take()
	b.apart()
	b.acts(ada, func() { b.put("a", "secret"); b.put("b", "plain") })
	b.take()
	elsewhere := t.TempDir()
	testkit.OK(t, os.MkdirAll(b.past.trash.Dir, 0o700))
	if err := os.WriteFile(filepath.Join(b.past.trash.Dir, "items"), nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	testkit.OK(t, os.MkdirAll(b.path(".ramet"), 0o755))
	testkit.OK(t, os.Symlink(elsewhere, b.path(".ramet/trash")))
	now := tree(t, b.root)
	p, _, err := b.f.Plan(t.Context(), Restore{Agent: ada, To: stateOf(before), Commands: true})
	if err == nil {
		_, _, err = b.f.Carry(t.Context(), p, silentPast)
	}
	if err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("%v", err)
	}
	if names, _ := os.ReadDir(elsewhere); len(names) > 0 || tree(t, b.root) != now {
		t.Errorf("something was touched: %v\n%s", names, tree(t, b.root))
	}
	// With a folder in the place of the link, that is the trash.
	testkit.OK(t, os.Remove(b.path(".ramet/trash")))
	testkit.OK(t, os.Mkdir(b.path(".ramet/trash"), 0o777))
	done, _ := b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	if len(done.Trashed) != 1 || done.Trashed[0].Place != b.path(".ramet/trash") || !b.inTrash()["secret"] {
		t.Errorf("%+v", done.Trashed)
	}
	if info, err := os.Stat(b.path(".ramet/trash")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if text, err := os.ReadFile(b.path(".ramet/trash/.gitignore")); err != nil || string(text) != "*\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// hoarder does random things to a folder whose files are huge, secret, ignored, foreign or open,
// and looks for every byte afterwards.
type hoarder struct {
	random
	states []PastState
	open   []*os.File
	n      int
}

// write writes a file that nobody wrote before.
func (h *hoarder) write() {
	h.n++
	content := fmt.Sprintf("%d ", h.n)
	switch h.IntN(4) {
	case 0:
		content += strings.Repeat("huge ", pastLargest)
	case 1:
		content += "secret"
	case 2:
		content += strings.Repeat("half ", pastLargest/10) // some of these are over the budget of a walk
	}
	name := h.name()
	if h.IntN(6) == 0 {
		name += ".o" // ignored
	}
	os.MkdirAll(filepath.Dir(h.b.path(name)), 0o755)
	os.WriteFile(h.b.path(name), []byte(content), 0o644) // it may be a folder: then nothing happens
}

// hold opens a file for writing, and keeps it open.
func (h *hoarder) hold() {
	if f, err := os.OpenFile(h.b.path(h.name()), os.O_RDWR|os.O_APPEND, 0); err == nil {
		h.open = append(h.open, f)
	}
}

// append writes into a file that is open, wherever it is now.
func (h *hoarder) append() {
	if len(h.open) > 0 {
		h.n++
		fmt.Fprintf(h.open[h.IntN(len(h.open))], "appended %d ", h.n)
	}
}

// act lets ramet do something that may take files away.
func (h *hoarder) act() string {
	b := h.b
	to := h.states[h.IntN(len(h.states))]
	switch h.IntN(4) {
	case 0:
		at := h.IntN(12)
		killed := b.kill(to, at)
		testkit.Must(b.past.journal.Finish(b.t.Context(), func(RestoreDone) error { return nil }))(b.t)
		return fmt.Sprintf("a restore that was killed at %d: %v", at, killed)
	case 1:
		all, err := b.past.trash.List()
		if err != nil || len(all) == 0 {
			return "nothing"
		}
		e := all[h.IntN(len(all))]
		_, err = b.past.trash.Restore(e, "")
		return fmt.Sprintf("trash restore of %s: %v", e.Path, err)
	}
	b.restore(Restore{Agent: ada, To: to, Force: h.IntN(2) == 0, Commands: h.IntN(2) == 0})
	return "a restore"
}

// lost returns what is neither in the folder nor in the store nor in the trash, of contents that
// were in the folder or the trash.
func (h *hoarder) lost(before map[string]bool) (out []string) {
	folder, inTrash := h.b.inFolder(), h.b.inTrash()
	for content := range before {
		if folder[content] || inTrash[content] {
			continue
		}
		if _, err := h.b.past.store.Get(h.b.t.Context(), chain.Sum([]byte(content))); err != nil {
			out = append(out, content[:min(40, len(content))])
		}
	}
	return out
}

// adrift returns the content of an open file that is in no folder and not in the trash.
func (h *hoarder) adrift() (out []string) {
	folder, inTrash := h.b.inFolder(), h.b.inTrash()
	for _, f := range h.open {
		content := testkit.Must(io.ReadAll(io.NewSectionReader(f, 0, 1<<20)))(h.b.t)
		if !folder[string(content)] && !inTrash[string(content)] {
			out = append(out, string(content[:min(40, len(content))]))
		}
	}
	return out
}

// Whatever is restored, undone, killed or taken from the trash: every byte that was in the folder
// before is in the folder, in the store or in the trash afterwards.
func TestNoActLosesAByte(t *testing.T) {
	for seed := range uint64(4) {
		b := newSmallBench(t)
		b.put(".gitignore", "*.o\n")
		h := &hoarder{random: random{rand.New(rand.NewPCG(seed, 72)), b}}
		h.states = append(h.states, stateOf(b.take()))
		for range 12 {
			who := []id.Agent{ada, ada, bob, ""}[h.IntN(4)]
			changes := func() {
				for range 1 + h.IntN(5) {
					h.write()
				}
				if who == ada && h.IntN(3) == 0 {
					os.Remove(b.path(h.name())) // its own doing
				}
			}
			if who == "" {
				changes()
			} else {
				b.acts(who, changes)
			}
			if h.IntN(2) == 0 && openFilesAreKnown {
				h.hold()
			}
			h.states = append(h.states, stateOf(b.take()))
			h.open = slices.DeleteFunc(h.open, func(f *os.File) bool { // what others removed is not ours
				info, err := f.Stat()
				return err != nil || !b.has(info)
			})
			before := b.inFolder()
			for content := range b.inTrash() {
				before[content] = true
			}
			did := h.act()
			if lost := h.lost(before); len(lost) > 0 {
				t.Fatalf("seed %d: %s lost %q", seed, did, lost)
			}
			h.append()
			if adrift := h.adrift(); len(adrift) > 0 {
				t.Fatalf("seed %d: %s left %q without a name", seed, did, adrift)
			}
		}
		for _, f := range h.open {
			f.Close()
		}
	}
}

// has reports whether a file has a name in the folder or in the trash.
func (b *pastBench) has(info fs.FileInfo) (found bool) {
	see := func(p string) {
		if now, err := os.Lstat(p); err == nil && os.SameFile(info, now) {
			found = true
		}
	}
	filepath.WalkDir(b.root, func(p string, _ fs.DirEntry, _ error) error { see(p); return nil })
	all := testkit.Must(b.past.trash.List())(b.t)
	for _, e := range all {
		see(filepath.Join(e.Place, e.TrashAct.ID, strconv.Itoa(e.N)))
	}
	return found
}

// A killed restore that moves files to the trash is finished at every point.
func TestKilledMovesToTheTrashAreFinished(t *testing.T) {
	b := newSmallBench(t)
	b.put("kind", "secret file")
	b.put("back", "secret old")
	b.put("small", "small")
	first := b.take()
	want := tree(t, b.root)
	b.apart()
	b.acts(ada, func() {
		os.Remove(b.path("kind"))
		b.put("kind/x", "secret folder")
		b.put("new", "secret new")
		b.put("small", "secret small")
	})
	os.Rename(b.path("back"), filepath.Join(t.TempDir(), "back")) // so that back has to come from the trash
	second := b.take()
	other := tree(t, b.root)
	b.stow("back", "secret old")
	b.stow("kind", "secret file")
	for at := 0; ; at++ {
		killed := b.kill(stateOf(first), at)
		done := testkit.Must(b.past.journal.Finish(t.Context(), func(RestoreDone) error { return nil }))(t)
		if got := tree(t, b.root); got != want && !(killed && len(done) == 0 && got == other) {
			t.Fatalf("killed at %d (%v):\n%s\nwant\n%s", at, killed, got, want)
		}
		if !killed {
			if at < 15 {
				t.Errorf("only %d points", at)
			}
			return
		}
		b.restore(Restore{Agent: ada, To: stateOf(second), Force: true})
		if got := tree(t, b.root); got != other {
			t.Fatalf("back after %d:\n%s\nwant\n%s", at, got, other)
		}
	}
}

// stow puts a content into the trash, as if a restore had moved it there.
func (b *pastBench) stow(name, content string) {
	b.t.Helper()
	dir := b.t.TempDir()
	testkit.OK(b.t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	act, err := b.past.trash.Begin("restore", TrashAct{Root: dir, Items: []TrashItem{{Path: name, Kind: 'f', Size: int64(len(content)), Hash: chain.Sum([]byte(content))}}})
	if err == nil {
		_, err = act.MoveAll()
	}
	testkit.OK(b.t, err)
}

func TestTheTrashOverwritesNothing(t *testing.T) {
	b := newSmallBench(t)
	before := b.take()
	b.apart()
	b.acts(ada, func() { b.put("d/a", "secret"); b.put("d/b", "secret, too") })
	b.take()
	b.restore(Restore{Agent: ada, To: stateOf(before), Commands: true})
	b.put("d/a", "another")
	found, err := b.past.trash.Find("d/a")
	if err != nil || len(found) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := b.past.trash.Restore(found[0], ""); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	both, err := b.past.trash.Find(found[0].TrashAct.ID)
	if err != nil || len(both) != 2 {
		t.Fatalf("%+v, %v", both, err)
	}
	os.RemoveAll(b.path("d"))
	for _, e := range both {
		var steps []string
		step.Hook = func(label string) error { steps = append(steps, label); return nil }
		_, err := b.past.trash.Restore(e, "")
		step.Hook = nil
		if !slices.Contains(steps, "sync") || err != nil {
			t.Errorf("%q, %v", steps, err)
		}
	}
	if got := b.inFolder(); !got["secret"] || !got["secret, too"] {
		t.Errorf("%v", got)
	}
	if _, err := b.past.trash.Find("d/a"); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}
