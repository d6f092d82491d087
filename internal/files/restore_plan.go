package files

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/step"
)

// RestoreStep is one path that is to change; nil is nothing there. Of folders only kind and mode
// count.
type RestoreStep struct {
	Path   string `json:"path"`
	Before *Node  `json:"before,omitempty"` // as it is
	After  *Node  `json:"after,omitempty"`  // as it shall be
	// Trash is the number of the item in the trash that Before becomes; 0: none, because it can
	// be brought back.
	Trash int `json:"trash,omitempty"`
}

// RestoreLeft is a path that is kept as it is, and why.
type RestoreLeft struct {
	Path string
	Why  string
}

// The reasons of Left.
const (
	Foreign  = "others could have changed it"
	Running  = "changed while a command was running" // of the agent; a person may have changed it too
	Unkept   = "its content was not kept"
	Unknown  = "its content is not known"
	Unseen   = "whether it was there is not known"
	Special  = "it is not a file, folder or link"
	Nested   = "it belongs to another repository"
	Moved    = "it changed meanwhile"
	Occupied = "something in its way is kept"
	Twin     = "another name differs from it in case only"
)

// RestorePlan lists what a restore would do. Its JSON is what the journal has of it.
type RestorePlan struct {
	Root  string        `json:"root"`            // the folder
	Agent id.Agent      `json:"agent,omitempty"` // whose restore it is; empty: no agent's
	From  chain.Hash    `json:"from"`
	To    chain.Hash    `json:"to"`
	Steps []RestoreStep `json:"steps"`
	Kept  []RestoreLeft `json:"-"`
	// Beside is another folder that may have the same files at the same paths: they are cloned
	// from there, or copied where they were not kept. Empty: there is none.
	Beside string `json:"-"`
	// Verb says in the trash which act moved something there.
	Verb  string `json:"-"`
	Trash string `json:"trash,omitempty"` // the act in the trash; empty: there is none
	Room  int64  `json:"-"`               // bytes that it needs on the disk; 0: unknown
	// Note says in JSON for whom this is, so that the process that finishes it can tell them.
	Note json.RawMessage `json:"note,omitempty"`
}

// RestoreWish selects the files to restore.
type RestoreWish struct {
	Root     string
	From, To chain.Hash // as it is; as it shall be
	Paths    []string   // and what is below them; none: all
	Partial  bool       // the state does not hold everything: nothing is removed
	// Keep returns why a path is to be kept, or nothing: others could have changed it. nil: none is.
	Keep  func(path string) string
	Force bool // do not ask Keep
	// LeftOut says of a path that To does not have that it was left out, as ignored; nil: none was.
	LeftOut func(path string, dir bool) bool
	// Has reports whether a content can be had.
	Has func(chain.Hash) bool
}

// MakePlan makes the plan.
func MakePlan(src Source, w RestoreWish) (RestorePlan, error) {
	p := RestorePlan{Root: w.Root, From: w.From, To: w.To}
	changes, err := Diff(src, w.From, w.To)
	if err != nil {
		return p, err
	}
	var closed []string // what was below these then is unknown
	for _, c := range changes {
		if c.After != nil && c.After.Closed() {
			closed = append(closed, c.Path)
		}
		if !Within(c.Path, w.Paths) {
			continue
		}
		if c.After == nil && (len(closed) > 0 && Within(c.Path, closed) || w.LeftOut != nil && w.LeftOut(c.Path, c.Before.Kind == Dir)) {
			p.Kept = append(p.Kept, RestoreLeft{c.Path, Unseen})
			continue
		}
		if w.Partial && c.After == nil {
			continue // it is unknown whether it was there
		}
		if why := w.against(c); why != "" {
			p.Kept = append(p.Kept, RestoreLeft{c.Path, why})
			continue
		}
		p.Steps = append(p.Steps, RestoreStep{Path: c.Path, Before: c.Before, After: c.After})
	}
	return p, nil
}

// against returns why a path is kept; empty: it is not.
func (w RestoreWish) against(c Change) string {
	if c.Nested != "" {
		return Nested
	}
	for _, n := range []*Node{c.Before, c.After} {
		switch {
		case n == nil:
		case n.Kind == Repo:
			return Nested
		case n.Kind == Other:
			return Special
		case !n.Known():
			return Unknown
		}
	}
	if a := c.After; a != nil && a.Kind != Dir && !w.Has(a.Hash) {
		return Unkept
	}
	if !w.Force && w.Keep != nil {
		return w.Keep(c.Path)
	}
	return ""
}

// Restores returns the paths that would get a content, or a mode.
func (p RestorePlan) Restores() []string {
	return p.paths(func(s RestoreStep) bool { return s.After != nil && s.After.Kind != Dir })
}

// Removes returns the paths that would be removed.
func (p RestorePlan) Removes() []string {
	return p.paths(func(s RestoreStep) bool { return s.After == nil && s.Before.Kind != Dir })
}

func (p RestorePlan) paths(that func(RestoreStep) bool) []string {
	var out []string
	for _, s := range p.Steps {
		if that(s) {
			out = append(out, s.Path)
		}
	}
	return out
}

// twins returns the paths that another one differs from in case only, both to be there.
func (p RestorePlan) twins() map[string]bool {
	seen, out := map[string]string{}, map[string]bool{}
	for _, s := range p.Steps {
		if s.After == nil {
			continue
		}
		low := strings.ToLower(s.Path)
		if other, ok := seen[low]; ok {
			out[s.Path], out[other] = true, true
		}
		seen[low] = s.Path
	}
	return out
}

// RestoreWant is a path as it shall be; nil: nothing there.
type RestoreWant struct {
	Path string
	Node *Node
}

// LayFiles makes a plan of what is wanted, whatever stands there now: for a folder that nothing
// uses yet.
func LayFiles(root string, wants []RestoreWant) (RestorePlan, error) {
	p := RestorePlan{Root: root}
	dir, err := step.OpenRoot(root)
	if err != nil {
		return p, durable.Failure("open", root, err)
	}
	defer dir.Close()
	w := &work{root: dir}
	for _, want := range wants {
		now, err := w.at(want.Path)
		if err != nil {
			return p, durable.Failure("look at", want.Path, err)
		}
		if !same(now, want.Node) {
			p.Steps = append(p.Steps, RestoreStep{Path: want.Path, Before: now, After: want.Node})
		}
	}
	return p, nil
}

// at returns what stands at a path; nil: nothing.
func (w *work) at(p string) (*Node, error) {
	dir, close, err := w.enter(path.Dir(p))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoFolder) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer close()
	return look(dir, path.Base(p))
}

// ErrCannotClone reports that contents are not shared between two places.
var ErrCannotClone = errors.New("the file system shares no contents here")

// clone makes a file that shares its content with the one beside, if that is the same and the
// file system can. false: it is to be written, and nothing is there.
func (w *work) clone(dir *step.Root, temp, at string, to Node) bool {
	if w.copies {
		return false
	}
	src := w.same(at, to)
	if src == nil {
		return false
	}
	defer src.Close()
	err := CloneFile(dir.Root, temp, 0o600, src)
	if err == nil {
		err = w.settle(dir, temp, to)
	}
	w.copies = errors.Is(err, ErrCannotClone)
	return err == nil
}

// copy makes a file of the one beside, where its content was not kept.
func (w *work) copy(dir *step.Root, temp, at string, to Node) (string, error) {
	src := w.same(at, to)
	if src == nil {
		return Unkept, nil
	}
	defer src.Close()
	read := sha256.New()
	err := w.write(dir, temp, io.TeeReader(src, read), to)
	other := chain.Hash(read.Sum(nil)) != to.Hash // it changed meanwhile
	if err != nil || other {
		dir.Remove(temp)
	}
	if err == nil && other {
		return Unkept, nil
	}
	return explain(err)
}

// same opens the file beside, if it may be the same; nil: it is not.
func (w *work) same(at string, to Node) *os.File {
	if w.beside == nil || to.Kind != File {
		return nil
	}
	info, err := w.beside.Lstat(at)
	if err != nil || !info.Mode().IsRegular() || info.Size() != to.Size {
		return nil
	}
	src, err := w.beside.OpenFile(at, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil
	}
	return src
}

var errOther = errors.New("it is another content")

// settle holds a clone against what it shall be, and puts it on disk. What is something else is
// removed.
func (w *work) settle(dir *step.Root, temp string, to Node) (err error) {
	defer func() {
		if err != nil {
			dir.Remove(temp)
		}
	}()
	got, err := sumFile(dir, temp)
	if err != nil {
		return err
	}
	if got != to.Hash {
		return errOther
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(to.Perm()); err != nil {
		return err
	}
	return f.Sync()
}

// markForTrash numbers the steps that take away a content for which that returns true: it goes to the trash.
func (p *RestorePlan) markForTrash(that func(RestoreStep) bool) {
	n := len(p.Trashes())
	for i, s := range p.Steps {
		if s.Trash == 0 && s.TakesAway() && that(s) {
			n++
			p.Steps[i].Trash = n
		}
	}
}

// TakesAway reports whether a step removes or replaces the content of a file or link.
func (s RestoreStep) TakesAway() bool {
	switch {
	case s.Before == nil || s.Before.Kind != File && s.Before.Kind != Link:
		return false
	case s.After == nil:
		return true
	}
	return s.Before.Kind != s.After.Kind || s.Before.Hash != s.After.Hash
}

// Trashes lists the paths whose content would go to the trash.
func (p RestorePlan) Trashes() []string {
	return p.paths(func(s RestoreStep) bool { return s.Trash > 0 })
}

// blockSize approximates what a file system takes for a small file.
const blockSize = 4 << 10

// CountRoom counts the bytes that a plan writes: files that are stored. What it removes for good
// makes room first.
func (p *RestorePlan) CountRoom(stored func(chain.Hash) bool) {
	for _, s := range p.Steps {
		if a := s.After; a != nil && a.Kind == File && (s.Before == nil || s.Before.Hash != a.Hash) && stored(a.Hash) {
			p.Room += (a.Size + blockSize - 1) / blockSize * blockSize
		}
		if s.After == nil && s.Before.Kind == File && s.Trash == 0 {
			p.Room -= s.Before.Size / blockSize * blockSize
		}
	}
}

// begin records in the trash what a plan moves there: what cannot be brought back, and files
// that another process has open for writing, because it could go on to write into a file
// without a name. It refuses before anything is touched.
func (j RestoreJournal) begin(p *RestorePlan) error {
	if free, known := durable.FreeSpace(p.Root); known && p.Room > free {
		return fault.New(fault.StorageFull, "the files take %d bytes more, and %s has room for %d", p.Room, p.Root, free).
			WithHint("nothing was touched; free some space and repeat")
	}
	p.markForTrash(func(s RestoreStep) bool {
		return s.Before.Kind == File && openForWriting(filepath.Join(p.Root, filepath.FromSlash(s.Path)))
	})
	if len(p.Trashes()) == 0 {
		return nil
	}
	act, err := j.recordTrash(*p)
	p.Trash = act.ID
	return err
}

// recordTrash records in the trash what the steps of a plan move there.
func (j RestoreJournal) recordTrash(p RestorePlan) (TrashAct, error) {
	act := TrashAct{Agent: p.Agent, Root: p.Root, Items: make([]TrashItem, len(p.Trashes()))}
	for _, s := range p.Steps {
		if s.Trash > 0 {
			act.Items[s.Trash-1] = TrashItem{Path: s.Path, Kind: s.Before.Kind, Size: s.Before.Size, Hash: s.Before.Hash}
		}
	}
	return j.Trash.Begin(cmp.Or(p.Verb, "restore"), act)
}

// discard takes away what a step found: to the trash if it could not be brought back.
func (w *work) discard(dir *step.Root, s RestoreStep) error {
	if s.Trash == 0 {
		return dir.Remove(path.Base(s.Path))
	}
	return w.act.Move(dir, path.Base(s.Path), s.Trash)
}

// replace puts something in the place of what a step found, with a rename by put. If that fails
// after the old file went to the trash, the old file comes back.
func (w *work) replace(dir *step.Root, s RestoreStep, now *Node, put func() error) error {
	if now == nil || s.Trash == 0 {
		return put()
	}
	if err := w.discard(dir, s); err != nil {
		return err
	}
	err := put()
	if err != nil {
		moved := []TrashEntry{w.act.Entry(s.Trash)}
		w.Trash.Take(moved, w.original(s), dir, path.Base(s.Path), s.Before.Perm())
	}
	return err
}

// errNone reports that nothing in the trash is the file that a step wants.
var errNone = errors.New(Unkept)

// takeBack puts a file from the trash in its place, in one step.
func (w *work) takeBack(dir *step.Root, s RestoreStep, now *Node) (string, error) {
	if s.After.Kind != File {
		return Unkept, nil
	}
	if w.contents == nil {
		var err error
		if w.contents, err = w.Trash.Contents(); err != nil {
			return "", err
		}
	}
	candidates := w.contents[s.After.Hash]
	if len(candidates) == 0 {
		return Unkept, nil
	}
	err := w.replace(dir, s, now, func() error {
		taken, err := w.Trash.Take(candidates, w.original(s), dir, path.Base(s.Path), s.After.Perm())
		if err == nil && !taken || errors.Is(err, syscall.EXDEV) {
			return errNone
		}
		return err
	})
	if errors.Is(err, errNone) {
		return Unkept, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Moved, nil
	}
	return explain(err)
}

// original returns the path of a step as the trash records it.
func (w *work) original(s RestoreStep) string {
	return filepath.Join(w.root.Name(), filepath.FromSlash(s.Path))
}
