package ledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/core/trust"
)

// Folder is a ledger in a state folder. It is a ledger.Book.
type Folder struct {
	dir  string
	now  func() time.Time
	wait time.Duration
	told func(RepairResult)
	gate trust.Folder
	turn chan struct{} // held by the goroutine whose turn it is to wait for the lock

	mu      sync.Mutex
	waiting []*pendingChange // guarded by mu; in the order in which they came
}

var _ Book = (*Folder)(nil)

// FolderOptions may be left out.
type FolderOptions struct {
	Now func() time.Time
	// Wait limits the wait for a busy lock, which is LOCKED then; 10 s.
	Wait time.Duration
	// Repaired receives repairs that were made on the way.
	Repaired func(RepairResult)
	// Project is the folder of files of unknown origin that the state folder must not lead out of; empty: the user
	// chose the state folder.
	Project string
}

// FolderAt returns the ledger of a state folder, which need not exist: the first entry makes it.
func FolderAt(dir string, o FolderOptions) *Folder {
	f := &Folder{dir: dir, now: o.Now, wait: cmp.Or(o.Wait, 10*time.Second), told: o.Repaired, gate: trust.Folder{Project: o.Project, Dir: dir, Hint: "make it a folder, or give another with --state"}, turn: make(chan struct{}, 1)}
	if f.now == nil {
		f.now = time.Now
	}
	if f.told == nil {
		f.told = func(RepairResult) {}
	}
	return f
}

// Dir returns the state folder.
func (f *Folder) Dir() string { return f.dir }

func (f *Folder) path() string { return filepath.Join(f.dir, FileName) }

// View is the ledger at one moment.
type View struct {
	*Sheet
	Named string // by the pointer; empty without one
}

// Read returns the ledger, after a repair if it is damaged.
func (f *Folder) Read(ctx context.Context) (View, error) {
	v, sound, err := f.look()
	if err != nil || sound {
		return v, err
	}
	if _, err := os.Stat(f.dir); err != nil {
		return v, nil // nothing is there, and there is nothing to repair
	}
	if _, err = f.Recover(ctx); err != nil {
		// Without the right to write, it is read as far as it can be.
		if v.Sheet != nil && fault.Is(err, fault.StorageReadOnly) {
			return v, nil
		}
		return View{}, err
	}
	v, _, err = f.look()
	return v, err
}

// Peek returns the ledger and changes nothing; one that cannot be read is STORAGE_CORRUPT.
func (f *Folder) Peek() (View, error) {
	v, _, err := f.look()
	if err == nil && v.Sheet == nil {
		return v, fault.New(fault.StorageCorrupt, "%s is damaged", f.path()).WithHint("`ramet track recover` repairs it")
	}
	return v, err
}

// look reads without a lock, and reports whether all is sound. The sheet is nil if it
// cannot be read.
func (f *Folder) look() (v View, sound bool, err error) {
	if err := f.gate.Stays(); err != nil {
		return v, false, err
	}
	data, there, err := f.load()
	if err != nil {
		return v, false, err
	}
	// The pointer second: it is written second, so its entry is there, unless the file has changed in between.
	// Recover looks again under the lock.
	if v.Named, err = f.pointer(); err != nil {
		return v, false, err
	}
	v.Sheet = New()
	if there {
		if v.Sheet, err = Parse(data); err != nil {
			return View{}, false, nil
		}
	}
	if v.Named == "" || v.Writable() != nil {
		return v, true, nil
	}
	want, ok := v.Pointer(v.Named)
	if want == v.Named && ok {
		return v, true, nil
	}
	v.Named = want
	return v, false, nil
}

// load reads the file; it must be a plain one.
func (f *Folder) load() (data []byte, there bool, err error) {
	const verb = "read ledger"
	info, err := os.Lstat(f.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, false, fault.New(fault.StorageForeign, "%s %s: it is not a plain file", verb, f.path()).
			WithHint("put the file itself there, or give another folder with --state")
	}
	if err != nil {
		return nil, true, durable.Failure(verb, f.path(), err)
	}
	file, err := durable.OpenFile(f.path(), os.O_RDONLY, 0) // which may be another file by now
	if err != nil {
		return nil, true, err
	}
	defer file.Close()
	var text bytes.Buffer
	text.Grow(int(min(info.Size(), 1<<24)) + bytes.MinRead)
	_, err = text.ReadFrom(file)
	return text.Bytes(), true, durable.Failure(verb, f.path(), err)
}

// save writes the file, with two retries. Each try uses another temporary file: after a failed fsync the content of
// the old one is unknown.
func (f *Folder) save(data []byte) error {
	perm := fs.FileMode(0o644)
	if info, err := os.Stat(f.path()); err == nil {
		perm = info.Mode().Perm()
	}
	var err error
	for range 3 {
		if err = durable.WriteFile(f.path(), data, perm); err == nil {
			return nil
		}
	}
	return err
}

// removeLeftovers removes the files of killed writers. Under the lock there is no other writer, and the file itself is
// whole, so they are not needed.
func (f *Folder) removeLeftovers() {
	for _, path := range findLeftovers(f.dir) {
		if strings.HasPrefix(filepath.Base(path), ".") { // ours
			step.Remove(path) // if not: nothing reads it
		}
	}
}

// pointer reads current-agent-id.txt. It returns unknownName for one that is empty or no plain file.
func (f *Folder) pointer() (string, error) {
	path := filepath.Join(f.dir, PointerName)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", durable.Failure("read pointer", path, err)
	}
	if !info.Mode().IsRegular() {
		return unknownName, nil
	}
	file, err := durable.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // its agent has ended just now
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil {
		return "", durable.Failure("read pointer", path, err)
	}
	if name := strings.TrimSpace(string(data)); name != "" {
		return name, nil
	}
	return unknownName, nil
}

// unknownName is a name that no entry has: no id has this form.
const unknownName = "\x00"

// point makes the pointer name an id; with "", the entry that the sheet wants. It reports whether a wrong pointer was
// repaired.
func (f *Folder) point(sheet *Sheet, to string) (repaired bool, err error) {
	named, err := f.pointer()
	if err != nil {
		return false, err
	}
	if to == "" && named != "" {
		_, known := sheet.Find(named)
		to, _ = sheet.Pointer(named)
		repaired = !known
	}
	path := filepath.Join(f.dir, PointerName)
	switch {
	case to == named:
		return false, nil
	case to == "":
		err = step.Remove(path)
	default:
		err = writePointer(path, to)
	}
	return repaired, durable.Failure("write pointer", path, err)
}

// writePointer writes the pointer without a sync, in place of the one before.
func writePointer(path, text string) error {
	temp := path + ".tmp"
	step.Remove(temp) // of a killed writer; or a link, which is not followed
	file, err := step.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = step.Rename(temp, path)
	}
	if err != nil {
		step.Remove(temp)
	}
	return err
}

// Spawn registers a sub-agent.
func (f *Folder) Spawn(ctx context.Context, st Start) (e Entry, err error) {
	if err := st.Check(); err != nil {
		return e, err // before a folder is made for it
	}
	if err := f.make(); err != nil {
		return e, err
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		e, err = s.Spawn(st, f.now())
		return e.ID, err
	})
	return e, err
}

// Move takes a sub-agent to another status, with extra fields for its entry.
func (f *Folder) Move(ctx context.Context, id string, to Status, reason string, extra ...Member) (e Entry, err error) {
	if err := f.checkFolder(id); err != nil {
		return e, err
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		e, err = s.Move(id, to, reason, f.now(), extra...)
		return "", err
	})
	return e, err
}

// checkFolder refuses an id if there is no state folder, before one is made for it.
func (f *Folder) checkFolder(id string) error {
	if _, err := os.Stat(f.dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := New().Get(id)
	return err
}

// Resume registers a sub-agent that continues another.
func (f *Folder) Resume(ctx context.Context, old string, st Start) (e Entry, err error) {
	if err := f.checkFolder(old); err != nil {
		return e, err
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		e, err = s.Resume(old, st, f.now(), f.Judge())
		return e.ID, err
	})
	return e, err
}

// Sweep marks the entries that are gone, and returns them.
func (f *Folder) Sweep(ctx context.Context) (out []Entry, err error) {
	v, err := f.Read(ctx)
	if err != nil {
		return nil, err
	}
	judge := f.Judge()
	if !slices.ContainsFunc(v.Entries(), func(e Entry) bool {
		_, gone := judge(e)
		return e.Status == Spawned && gone
	}) {
		return nil, nil // without a lock
	}
	_, err = f.change(ctx, func(s *Sheet) (string, error) {
		out = s.Sweep(judge, f.now())
		return "", nil
	})
	return out, err
}

// pendingChange is a change that waits. do returns the id that the pointer is to name from then on, or ""; with an
// error it has changed nothing.
type pendingChange struct {
	do     func(*Sheet) (point string, err error)
	repair RepairResult
	err    error
	over   chan struct{} // closed when repair and err are final
}

// change makes a change, together with those that wait: the caller that has the turn makes them all.
func (f *Folder) change(ctx context.Context, do func(*Sheet) (point string, err error)) (RepairResult, error) {
	own := &pendingChange{do: do, over: make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, own)
	f.mu.Unlock()
	select {
	case <-own.over:
		return own.repair, own.err
	case f.turn <- struct{}{}:
	}
	defer func() { <-f.turn }()
	f.mu.Lock()
	steps := f.waiting
	f.waiting = nil
	f.mu.Unlock()
	if len(steps) > 1 { // which do not end with this caller
		ctx = context.WithoutCancel(ctx)
	}
	if len(steps) > 0 {
		repair, err := f.applyAll(ctx, steps)
		for _, s := range steps {
			if s.repair = repair; s.err == nil {
				s.err = err
			}
			close(s.over)
		}
	}
	return own.repair, own.err
}

// applyAll reads, repairs, changes and writes under the lock.
func (f *Folder) applyAll(ctx context.Context, steps []*pendingChange) (r RepairResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	if err := f.gate.Stays(); err != nil {
		return r, err
	}
	err = durable.While(ctx, f.path(), func() error {
		var sheet *Sheet
		if sheet, r, err = f.restore(); err != nil {
			return err
		}
		if err := sheet.Writable(); err != nil {
			return err
		}
		point, later, failed := "", false, 0
		for _, s := range steps {
			var to string
			switch to, s.err = s.do(sheet); {
			case s.err != nil:
				failed++
			case to != "":
				point, later = to, false
			default:
				later = true
			}
		}
		if failed == len(steps) {
			return nil // each has its error
		}
		if sheet.Changed() {
			if err := f.save(sheet.Format()); err != nil {
				return err
			}
		}
		if point != "" {
			f.removeLeftovers()
		}
		r.Entries = sheet.Len()
		if r.Pointer, err = f.point(sheet, point); err != nil || point == "" || !later {
			return err
		}
		again, err := f.point(sheet, "") // its agent may have ended since
		r.Pointer = r.Pointer || again
		return err
	})
	return r, err
}

// Book records sub-agents for the kernel and for runs. All methods return when the change is durable and are safe for
// concurrent use; other processes may use the same book.
type Book interface {
	// Spawn registers a sub-agent before it starts; it must not start if this fails.
	// CONFLICT: the id is live.
	Spawn(ctx context.Context, st Start) (Entry, error)
	// Move records how it ended (Completed, Failed or Timeout), or that it stopped in the middle and can be resumed
	// (Interrupted), with extra fields for its entry. The same status twice changes nothing. NOT_FOUND; ILLEGAL_TRANSITION
	// if it has ended otherwise, or is interrupted and the end is not Failed.
	Move(ctx context.Context, id string, to Status, reason string, extra ...Member) (Entry, error)
	// Resume registers a sub-agent that continues another, which must be interrupted, or spawned with a dead owner or
	// past its time.
	Resume(ctx context.Context, old string, st Start) (Entry, error)
}
