package ledger

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	f := &Folder{dir: dir, now: o.Now, wait: o.Wait, told: o.Repaired, gate: trust.Folder{Project: o.Project, Dir: dir, Hint: "make it a folder, or give another with --state"}, turn: make(chan struct{}, 1)}
	if f.now == nil {
		f.now = time.Now
	}
	if f.wait == 0 {
		f.wait = 10 * time.Second
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
