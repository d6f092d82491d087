package files

import (
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"ramet/internal/testkit"
)

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
