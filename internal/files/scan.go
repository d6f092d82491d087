package files

import (
	"context"
	"errors"
	"io"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
)

// ScanOptions configures a walk.
type ScanOptions struct {
	Root    string   // real path
	Hide    []string // real paths that are ramet's own
	Ignored bool     // ignored files too
	Env     []string // has HOME, where global excludes are
	// Largest is the size up to which contents are kept; 0: Largest.
	Largest int64
	// Most gives how many bytes of contents one walk keeps at most; what is over is known by its
	// hash only. 0: MostKept.
	Most int64
	// Secret reports whether a content holds a credential of ours; nil: none does.
	Secret func([]byte) bool
}

// LargestKept is the size up to which contents are kept.
const LargestKept = 50 << 20

// MostKeptBytes limits how many bytes of contents one walk keeps: a folder of data must not fill the
// disk a second time.
const MostKeptBytes = 1 << 30

// Keeper keeps contents (content.Batch).
type Keeper interface {
	Add(h chain.Hash, content []byte) error
	AddGit(h chain.Hash, oid string, size int64) error
	AddFolder(f, before Folder) (chain.Hash, error)
}

// Scanner walks one folder. It is used by one goroutine at a time.
type Scanner struct {
	o    ScanOptions
	hide map[string]bool // paths in the root
	git  *repo           // nil: there is none
	now  func() time.Time
	open func(string) (ScanPlace, error)
}

// NewScan makes a scanner.
func NewScan(o ScanOptions) *Scanner {
	s := &Scanner{o: o, hide: map[string]bool{}, now: time.Now, open: open}
	if s.o.Largest == 0 {
		s.o.Largest = LargestKept
	}
	if s.o.Most == 0 {
		s.o.Most = MostKeptBytes
	}
	for _, p := range o.Hide {
		if rel, ok := strings.CutPrefix(p, strings.TrimSuffix(o.Root, "/")+"/"); ok {
			s.hide[rel] = true
		}
	}
	s.git = findRepo(o.Root)
	return s
}

// ScanResult reports what a walk found.
type ScanResult struct {
	Root  chain.Hash
	Index *Index
	// Seen of Of names are known; they differ where the walk was stopped.
	Seen, Of int64
	Read     int64 // files that were read
}

// Walk looks at everything. What is new goes to keep; has says what is kept already, where
// something may have been dropped since last was made (nil: nothing was). stop is asked
// often: true ends the walk early.
func (s *Scanner) Walk(ctx context.Context, last *Index, keep Keeper, has func(chain.Hash) bool, stop func() bool) (ScanResult, error) {
	top, err := s.open(s.o.Root)
	if err != nil {
		return ScanResult{}, durable.Failure("look at", s.o.Root, err)
	}
	defer top.Close()
	st, err := top.Self()
	if err != nil {
		return ScanResult{}, durable.Failure("look at", s.o.Root, err)
	}
	w := &walk{Scanner: s, ctx: ctx, keep: keep, has: has, stop: stop, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))}
	w.tracked = sync.OnceValue(func() tracked { return s.git.tracked(ctx, s.o.Root) })
	var before *seenFolder
	if last != nil {
		before = last.top
	}
	names, err := namesOf(top)
	if err != nil {
		return ScanResult{}, durable.Failure("look at", s.o.Root, err)
	}
	now, err := w.folder(top, "", names, TopIgnore(s.o.Root, s.o.Env), st, before, false)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return ScanResult{}, err
	}
	return ScanResult{Root: now.hash, Index: &Index{top: now}, Seen: w.seen.Load(), Of: w.of.Load(), Read: w.read.Load()}, nil
}

// walk is one walk.
type walk struct {
	*Scanner
	ctx     context.Context
	keep    Keeper
	has     func(chain.Hash) bool
	stop    func() bool
	slots   chan struct{} // further folders that are walked at the same time
	tracked func() tracked

	seen, of, read atomic.Int64
	kept           atomic.Int64 // bytes that are new
}

// over reports whether the walk is to end.
func (w *walk) over() bool { return w.ctx.Err() != nil || w.stop != nil && w.stop() }

// own reports whether a name in a folder is never part of a state.
func (w *walk) own(folder, name string) bool {
	return IsGit(name) || strings.HasPrefix(name, ".ramet") && (name == ".ramet" || strings.HasPrefix(name, ".ramet-")) ||
		len(w.hide) > 0 && w.hide[join(folder, name)]
}

// join returns the path of a name in a folder.
func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// namesOf lists a folder, in order.
func namesOf(p ScanPlace) ([]string, error) {
	names, err := p.Names()
	slices.Sort(names)
	return names, err
}

// folder walks an open folder. before is what it was; nil: unknown. Where nothing
// changed it returns before itself.
func (w *walk) folder(p ScanPlace, rel string, names []string, rules IgnoreFolder, st ScanStat, before *seenFolder, nested bool) (*seenFolder, error) {
	now := &seenFolder{rules: rules.Sum(), ctime: st.Ctime, nested: nested, nodes: make([]seen, 0, len(names))}
	trust := before != nil && before.rules == now.rules
	for _, name := range names {
		if w.own(rel, name) {
			continue
		}
		stat, err := p.Stat(name)
		if err != nil {
			continue // it went away
		}
		was := before.find(name)
		known := trust && was != nil && was.stat.Kind == stat.Kind
		if !known && w.leftOut(rules, join(rel, name), name, stat, trust && before.ignored(name)) {
			now.out = append(now.out, name)
			continue
		}
		now.nodes = append(now.nodes, seen{Node: node(name, stat), stat: stat})
	}
	w.of.Add(int64(len(now.nodes)))
	if err := w.fill(p, rel, rules, now, before); err != nil {
		return nil, err
	}
	if err := w.seal(now, before); err != nil {
		return nil, err
	}
	if now.equal(before) {
		return before, nil
	}
	now.nodes = slices.Clip(now.nodes)
	return now, nil
}

// leftOut reports whether a name is ignored; before: it was, by the same rules.
func (w *walk) leftOut(rules IgnoreFolder, at, name string, st ScanStat, before bool) bool {
	if w.o.Ignored {
		return false
	}
	dir := st.Kind == Dir
	return (before || rules.Ignores(name, dir)) && !(w.git != nil && w.isTracked(at, dir))
}

// isTracked reports whether git tracks a path, or something below it.
func (w *walk) isTracked(at string, dir bool) bool {
	if _, ok := w.tracked().id(at); ok {
		return true
	}
	return dir && w.tracked().folders[at]
}

func node(name string, st ScanStat) Node {
	return Node{Name: name, Kind: st.Kind, Mode: st.Mode, Size: st.Size}
}

// fill finds the hashes of what is in a folder.
func (w *walk) fill(p ScanPlace, rel string, rules IgnoreFolder, now, before *seenFolder) error {
	var below sync.WaitGroup
	var mu sync.Mutex
	var failed error
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = err
		}
	}
	for i := range now.nodes {
		n := &now.nodes[i]
		was := before.find(n.Name)
		switch n.Kind {
		case File, Link:
			if now.nested {
				// It differs when a file of another repository was changed.
				n.Hash = chain.Sum(strconv.AppendInt(nil, n.stat.Ctime, 10))
				w.seen.Add(1)
				continue
			}
			if err := w.content(p, rel, n, was); err != nil {
				note(err)
			}
		case Dir:
			if w.over() {
				continue
			}
			sub := func() {
				if err := w.enter(p, join(rel, n.Name), rules, n, was, now.nested); err != nil {
					note(err)
				}
			}
			select {
			case w.slots <- struct{}{}:
				below.Go(func() { defer func() { <-w.slots }(); sub() })
			default:
				sub()
			}
		default:
			w.seen.Add(1)
		}
	}
	below.Wait()
	return failed
}

// enter walks a folder in another. One that cannot be read is unknown; one with a .git is
// another repository, and so is all that is in it (nested).
func (w *walk) enter(p ScanPlace, rel string, rules IgnoreFolder, n, was *seen, nested bool) error {
	next, err := p.Enter(n.Name)
	if err != nil {
		w.seen.Add(1)
		return nil // no permission, or no folder any more: unknown
	}
	defer next.Close()
	names, err := namesOf(next)
	if err != nil {
		w.seen.Add(1)
		return nil // it cannot be read: unknown
	}
	has := func(name string) bool { _, ok := slices.BinarySearch(names, name); return ok }
	if isRepository(next, names) {
		n.Node = Node{Name: n.Name, Kind: Repo}
		nested = true
	}
	inner := rules.Enter(n.Name, has, func(name string) []byte { return rulesIn(next, name) })
	var before *seenFolder
	if was != nil {
		before = was.sub
	}
	sub, err := w.folder(next, rel, names, inner, n.stat, before, nested)
	if err != nil {
		if kept := (keeping{}); w.ctx.Err() != nil || errors.As(err, &kept) {
			return err
		}
		w.seen.Add(1)
		return nil // it cannot be read: unknown
	}
	n.sub, n.Hash = sub, sub.hash
	w.seen.Add(1)
	return nil
}

// isRepository reports whether a folder with these names is a repository of its own. A disk may
// take .GIT for the same name.
func isRepository(p ScanPlace, names []string) bool {
	if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, ".git") }) {
		return false
	}
	_, err := p.Stat(".git")
	return err == nil
}

// keeping is a failure to keep something: it ends the walk.
type keeping struct{ error }

func (k keeping) Unwrap() error { return k.error }

// seal gives a folder its hash, and keeps its bytes where they are new.
func (w *walk) seal(now, before *seenFolder) error {
	if before != nil && len(before.nodes) == len(now.nodes) && (w.has == nil || w.has(before.hash)) {
		same := true
		for i := range now.nodes {
			same = same && now.nodes[i].Node == before.nodes[i].Node
		}
		if same {
			now.hash = before.hash
			return nil
		}
	}
	var err error
	if now.hash, err = w.keep.AddFolder(now.plain(), before.plain()); err != nil {
		return keeping{err}
	}
	return nil
}

// ScanPlace is an open folder.
type ScanPlace interface {
	// Names lists what is in it, in any order.
	Names() ([]string, error)
	// Stat tells of a name, never of what a link leads to.
	Stat(name string) (ScanStat, error)
	// Self tells of the folder.
	Self() (ScanStat, error)
	// Enter opens a folder in it; what is no folder, or a link to one, is an error.
	Enter(name string) (ScanPlace, error)
	// Open opens a regular file in it, and waits for nothing.
	Open(name string) (ScanFile, error)
	// Target returns where a link leads.
	Target(name string) (string, error)
	Close() error
}

// ScanFile is an open file.
type ScanFile interface {
	io.ReadCloser
	Self() (ScanStat, error)
}

// ScanStat describes what identifies a file as it is now. Times are in nanoseconds.
type ScanStat struct {
	Kind          Kind
	Mode          uint16
	Size          int64
	Device, Inode uint64
	Mtime, Ctime  int64
}

// LeftOut says of paths that a state does not have whether its own rules left them out: then
// it is unknown whether they were there. read reads a content; nil: it cannot be had.
func (s *Scanner) LeftOut(src Source, root chain.Hash, read func(chain.Hash) []byte) func(at string, dir bool) bool {
	if s.o.Ignored {
		return func(string, bool) bool { return false }
	}
	then := &rulesThen{src: src, root: root, read: read, folders: map[string]rulesOf{}}
	then.folders["."] = rulesOf{rules: TopIgnoreWith(s.o.Root, s.o.Env, func(name string) []byte {
		if slices.Contains(IgnoreNames, name) {
			return then.file(name)
		}
		return ReadIgnore(s.o.Root)(name)
	})}
	return then.leftOut
}

// rulesThen are the rules that held in a state.
type rulesThen struct {
	src     Source
	root    chain.Hash
	read    func(chain.Hash) []byte
	folders map[string]rulesOf
}

// rulesOf are those of a folder; out: it was left out itself.
type rulesOf struct {
	rules IgnoreFolder
	out   bool
}

func (t *rulesThen) leftOut(at string, dir bool) bool {
	in := t.folder(path.Dir(at))
	return in.out || in.rules.Ignores(path.Base(at), dir)
}

func (t *rulesThen) folder(at string) rulesOf {
	if known, ok := t.folders[at]; ok {
		return known
	}
	name, up := path.Base(at), t.folder(path.Dir(at))
	out := rulesOf{out: up.out || up.rules.Ignores(name, true)}
	if !out.out {
		in := func(file string) string { return path.Join(at, file) }
		out.rules = up.rules.Enter(name,
			func(file string) bool { return t.file(in(file)) != nil }, // never .git: it would be another repository
			func(file string) []byte { return t.file(in(file)) })
	}
	t.folders[at] = out
	return out
}

// file returns a file of rules as it was; nil: there was none, or it cannot be had.
func (t *rulesThen) file(at string) []byte {
	n, err := Find(t.src, t.root, at)
	if err != nil || n == nil || n.Kind != File || !n.Known() || n.Size > mostRules {
		return nil
	}
	return t.read(n.Hash)
}
