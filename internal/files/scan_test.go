package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/fault"
	"ramet/internal/files/git"
	"ramet/internal/testkit"
)

// scanBench is a folder, its store and its scanner.
type scanBench struct {
	t     *testing.T
	root  string
	store *Contents
	scan  *Scanner
	last  *Index
}

func newBenchScan(t *testing.T, o ScanOptions) *scanBench {
	t.Helper()
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	o.Root = root
	o.Env = []string{"HOME=" + t.TempDir()}
	b := &scanBench{t: t, root: root}
	b.store = NewContents(t.TempDir(), func(ctx context.Context, repo, oid string) ([]byte, error) {
		out, err := git.Run(ctx, repo, "cat-file", "blob", oid)
		return []byte(out), err
	})
	b.scan = NewScan(o)
	return b
}

func (b *scanBench) put(files ...string) {
	b.t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(b.root, files[i])
		testkit.OK(b.t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.OK(b.t, os.WriteFile(name, []byte(files[i+1]), 0o644))
	}
}

func (b *scanBench) git(args ...string) string {
	b.t.Helper()
	return testkit.Git(b.t, b.root, args...)
}

func (b *scanBench) walk() ScanResult {
	b.t.Helper()
	batch := b.store.Begin(b.scan.Repository())
	r := testkit.Must(b.scan.Walk(b.t.Context(), b.last, batch, nil, nil))(b.t)
	testkit.Must(batch.Commit())(b.t)
	b.last = r.Index
	return r
}

// list is what a state holds, a line for each node.
func (b *scanBench) list(root chain.Hash) []string {
	b.t.Helper()
	var out []string
	testkit.OK(b.t, List(b.store, root, func(p string, n Node) error {
		line := fmt.Sprintf("%c %s", n.Kind, p)
		if n.Kind == File && n.Known() {
			if text, err := b.store.Get(b.t.Context(), n.Hash); err != nil {
				line += " " + string(fault.CodeOf(err))
			} else {
				line += " " + string(text)
			}
		}
		out = append(out, line)
		return nil
	}))
	return out
}

func (b *scanBench) want(root chain.Hash, want ...string) {
	b.t.Helper()
	if got := b.list(root); !slices.Equal(got, want) {
		b.t.Errorf("state\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOnlyWhatChangedIsRead(t *testing.T) {
	b := newBenchScan(t, ScanOptions{})
	for i := range 50 {
		b.put(fmt.Sprintf("d%d/f%d", i%5, i), fmt.Sprint(i))
	}
	written := time.Now()
	old := written.Add(-time.Hour)
	b.scan.now = func() time.Time { return written } // the walk is that soon, however long it takes
	first := b.walk()
	b.scan.now = time.Now
	if first.Read != 50 {
		t.Errorf("read %d", first.Read)
	}
	// They were written a moment ago, and so are racy. Once they were quiet they are not.
	waitUntilQuiet(t)
	if r := b.walk(); r.Read == 0 || r.Root != first.Root {
		t.Errorf("racy files: read %d", r.Read)
	}
	if r := b.walk(); r.Read != 0 || r.Root != first.Root {
		t.Errorf("read %d", r.Read)
	}
	// The same size and mtime: the ctime tells.
	name := filepath.Join(b.root, "d0/f0")
	info := testkit.Must(os.Stat(name))(t)
	b.put("d0/f0", "9")
	testkit.OK(t, os.Chtimes(name, old, info.ModTime()))
	r := b.walk()
	if r.Read != 1 || r.Root == first.Root {
		t.Errorf("read %d", r.Read)
	}
	changes, err := Diff(b.store, first.Root, r.Root)
	if err != nil || len(changes) != 1 || changes[0].Path != "d0/f0" || changes[0].Verb() != "changed" {
		t.Errorf("%+v, %v", changes, err)
	}
}

// waitUntilQuiet waits until files that were just written count as settled: a fact of the
// file system's clock.
func waitUntilQuiet(t *testing.T) {
	t.Helper()
	begun := time.Now()
	probe := filepath.Join(t.TempDir(), "probe")
	testkit.WaitUntil(t, "the clock of the file system has moved on", func() bool {
		testkit.OK(t, os.WriteFile(probe, nil, 0o600))
		info := testkit.Must(os.Stat(probe))(t)
		return info.ModTime().Sub(begun) > 2*quiet
	})
}

func TestCleanFilesAreNamedByGit(t *testing.T) {
	b := newBenchScan(t, ScanOptions{})
	b.git("init", "-q")
	b.put(".gitignore", "*.o\n", "clean", "clean", "dirty", "before", "d/forced.o", "forced")
	b.git("add", "-f", ".")
	b.git("commit", "-qm", "x")
	b.put("dirty", "after", "new", "new", "d/free.o", "ignored")
	b.scan = NewScan(b.scan.o)
	r := b.walk()
	b.want(r.Root, "f .gitignore *.o\n", "f clean clean", "d d", "f d/forced.o forced", "f dirty after", "f new new")
	for path, inGit := range map[string]bool{"clean": true, "d/forced.o": true, "dirty": false, "new": false} {
		n, err := Find(b.store, r.Root, path)
		if err != nil || n == nil {
			t.Fatal(path, err)
		}
		if _, kept, ok := b.store.Size(n.Hash); !ok || (kept == 0) != inGit {
			t.Errorf("%s: %d bytes kept, %v", path, kept, ok)
		}
	}
	p := b.scan.Position()
	if want := strings.TrimSpace(b.git("rev-parse", "HEAD")); p.Head != want || p.Branch == "" || len(p.Index) != 64 {
		t.Errorf("%+v, want %s", p, want)
	}
	// What git lost is not restorable, and says so.
	testkit.OK(t, os.RemoveAll(filepath.Join(b.root, ".git", "objects")))
	n, _ := Find(b.store, r.Root, "clean")
	if _, err := b.store.Get(t.Context(), n.Hash); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}

func TestTheIndexSurvivesAndIsOnlyACache(t *testing.T) {
	b := newBenchScan(t, ScanOptions{})
	b.put("a", "1", "d/b", "2", ".gitignore", "c\n", "c", "")
	waitUntilQuiet(t)
	first := b.walk()
	path := filepath.Join(t.TempDir(), "index")
	b.last.Generation = "g"
	testkit.OK(t, b.last.Save(path))
	got, err := LoadIndex(path)
	if err != nil || got == nil || got.Generation != "g" || got.Root() != first.Root {
		t.Fatalf("%+v, %v", got, err)
	}
	b.last = got
	if r := b.walk(); r.Read != 0 || r.Root != first.Root {
		t.Errorf("%+v", r)
	}
	text := testkit.Must(os.ReadFile(path))(t)
	for _, damaged := range [][]byte{nil, text[:len(text)-1], append(slices.Clone(text[:40]), text[41:]...), []byte("another thing")} {
		testkit.OK(t, os.WriteFile(path, damaged, 0o600))
		if x, err := LoadIndex(path); x != nil || err != nil {
			t.Errorf("%d bytes: %v, %v", len(damaged), x, err)
		}
	}
}

func TestAWalkThatIsStoppedSaysSo(t *testing.T) {
	b := newBenchScan(t, ScanOptions{})
	for i := range 20 {
		b.put(fmt.Sprintf("d/f%d", i), fmt.Sprint(i))
	}
	left := 15
	batch := b.store.Begin("")
	r := testkit.Must(b.scan.Walk(t.Context(), nil, batch, nil, func() bool { left--; return left < 0 }))(t)
	if r.Of < 20 || r.Seen >= r.Of {
		t.Errorf("%d of %d", r.Seen, r.Of)
	}
	testkit.Must(batch.Commit())(t)
	unknown := 0
	List(b.store, r.Root, func(_ string, n Node) error {
		if n.Kind == File && !n.Known() {
			unknown++
		}
		return nil
	})
	if unknown == 0 {
		t.Error("what was not read is unknown")
	}
	b.last = r.Index // what was read is not read again
	if again := b.walk(); again.Seen < again.Of || again.Read == 0 {
		t.Errorf("%+v", again)
	}
}

func TestAFolderOfDataIsNotKeptASecondTime(t *testing.T) {
	b := newBenchScan(t, ScanOptions{Most: 100})
	for i := range 20 {
		b.put(fmt.Sprintf("f%02d", i), strings.Repeat("x", 30)+fmt.Sprint(i))
	}
	r := b.walk()
	kept := 0
	List(b.store, r.Root, func(_ string, n Node) error {
		if !n.Known() {
			t.Errorf("%s is not known", n.Name)
		}
		if b.store.Has(n.Hash) {
			kept++
		}
		return nil
	})
	if kept == 0 || kept > 3 {
		t.Errorf("%d of 20 files are kept", kept)
	}
}

// made is a folder that is made up: folders of files, some of which nobody may read.
type made struct {
	wide, deep int // names in a folder; how many folders down
	stats      *atomic.Int64
	changes    *atomic.Int64 // asked how often a file was opened; nil: files hold still
}

func (m made) Names() ([]string, error) {
	var out []string
	for i := range m.wide {
		out = append(out, fmt.Sprintf("n%04d", i))
	}
	return append(out, "closed", "shut"), nil
}

func (m made) Stat(name string) (ScanStat, error) {
	m.stats.Add(1)
	st := ScanStat{Kind: File, Mode: 0o644, Size: int64(len(name)), Inode: 7, Ctime: 1, Mtime: 1}
	switch {
	case name == ".git" || strings.HasSuffix(name, "ignore"):
		return st, fs.ErrNotExist
	case name == "closed" || m.deep > 0 && strings.HasPrefix(name, "n"):
		st.Kind, st.Size = Dir, 0
	}
	return st, nil
}

func (m made) Self() (ScanStat, error) { return ScanStat{Kind: Dir}, nil }
func (m made) Close() error            { return nil }

func (m made) Enter(name string) (ScanPlace, error) {
	if name == "closed" {
		return nil, fs.ErrPermission
	}
	m.deep--
	return m, nil
}

func (m made) Target(string) (string, error) { return "", fs.ErrInvalid }

func (m made) Open(name string) (ScanFile, error) {
	if name == "shut" {
		return nil, fs.ErrPermission
	}
	return madeFile{strings.NewReader(name), m, name}, nil
}

type madeFile struct {
	*strings.Reader
	m    made
	name string
}

func (f madeFile) Close() error { return nil }
func (f madeFile) Self() (ScanStat, error) {
	st, err := f.m.Stat(f.name)
	if f.m.changes != nil {
		st.Ctime += f.m.changes.Add(1)
	}
	return st, err
}

func (b *scanBench) over(m made) {
	m.stats = new(atomic.Int64)
	b.scan.open = func(string) (ScanPlace, error) { return m, nil }
}

func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	b := newBenchScan(t, ScanOptions{})
	b.over(made{wide: 2})
	r := b.walk()
	b.want(r.Root, "d closed", "f n0000 n0000", "f n0001 n0001", "f shut")
	if r.Seen < r.Of {
		t.Error("it was looked at")
	}
	b.over(made{wide: 1, changes: new(atomic.Int64)})
	b.last = nil
	r = b.walk()
	b.want(r.Root, "d closed", "f n0000", "f shut")
}

// fullKeeper refuses one kind of content.
type fullKeeper struct {
	Keeper
	refused string
}

func (k fullKeeper) Add(h chain.Hash, content []byte) error {
	if string(content) == k.refused {
		return fs.ErrClosed
	}
	return k.Keeper.Add(h, content)
}

func (k fullKeeper) AddGit(h chain.Hash, oid string, size int64) error {
	if k.refused == "in git" {
		return fs.ErrClosed
	}
	return k.Keeper.AddGit(h, oid, size)
}

func (k fullKeeper) AddFolder(f, before Folder) (chain.Hash, error) {
	if k.refused == f[0].Name {
		return chain.Hash{}, fs.ErrClosed
	}
	return k.Keeper.AddFolder(f, before)
}

// A state that could not be kept whole is none: what cannot be kept is not merely unknown.
func TestAWalkFailsIfSomethingCannotBeKept(t *testing.T) {
	b := newBenchScan(t, ScanOptions{})
	b.git("init", "-q")
	b.put("committed", "in git", "d/e/f", "below")
	b.git("add", "committed")
	b.git("commit", "-qm", "x")
	b.put("new", "on top")
	testkit.OK(t, os.Symlink("target", filepath.Join(b.root, "d/link")))
	b.scan = NewScan(b.scan.o)
	for _, refused := range []string{"", "on top", "below", "target", "in git", "f", "e", "committed"} {
		batch := b.store.Begin(b.scan.Repository())
		_, err := b.scan.Walk(t.Context(), nil, fullKeeper{batch, refused}, nil, nil)
		batch.Drop()
		if errors.Is(err, fs.ErrClosed) != (refused != "") {
			t.Errorf("%q is not kept: %v", refused, err)
		}
	}
}

// A million files: the walk ends when it is told to, and says how far it came.
func TestAMillionFilesAreBounded(t *testing.T) {
	b := newBenchScan(t, ScanOptions{})
	m := made{wide: 1000, deep: 1}
	b.over(m)
	stats := new(atomic.Int64)
	m.stats = stats
	b.scan.open = func(string) (ScanPlace, error) { return m, nil }
	const most = 50_000
	batch := b.store.Begin("")
	defer batch.Drop()
	r := testkit.Must(b.scan.Walk(t.Context(), nil, batch, nil, func() bool { return stats.Load() > most }))(t)
	if r.Seen >= r.Of || stats.Load() > most+10_000 {
		t.Errorf("%d of %d, %d names looked at", r.Seen, r.Of, stats.Load())
	}
}
