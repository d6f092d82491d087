package files

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/model/llm"
)

// steps does all steps of a plan: first folders are opened that were shut; then what is removed,
// the deepest first; then folders; then files and links; then the modes of folders, which may shut
// them.
// Files are written under the name temp first, beside where they belong: what a restore that was
// killed left there is written over, or swept.
func (j RestoreJournal) steps(ctx context.Context, p RestorePlan, temp string) (RestoreDone, error) {
	out := RestoreDone{RestorePlan: p}
	root, err := step.OpenRoot(p.Root)
	if err != nil {
		return out, durable.Failure("open", p.Root, err)
	}
	defer root.Close()
	w := &work{RestoreJournal: j, root: root, temp: temp, twins: p.twins(), touched: map[string]bool{}}
	if p.Trash != "" {
		w.act, err = j.Trash.Act(p.Trash)
		if fault.Is(err, fault.NotFound) { // the restore failed before, and all that it had moved there came back
			w.act, err = j.recordTrash(p)
		}
		if err != nil {
			return out, err
		}
	}
	if p.Beside != "" {
		if w.beside, err = os.OpenRoot(p.Beside); err == nil { // without it everything is written
			defer w.beside.Close()
		}
	}
	steps := slices.SortedStableFunc(slices.Values(p.Steps), func(a, b RestoreStep) int {
		if pa, pb := phase(a), phase(b); pa != pb {
			return cmp.Compare(pa, pb)
		} else if pa == removing {
			return strings.Compare(b.Path, a.Path)
		}
		return strings.Compare(a.Path, b.Path)
	})
	for _, s := range slices.SortedFunc(slices.Values(p.Steps), func(a, b RestoreStep) int { return strings.Compare(a.Path, b.Path) }) {
		w.unlock(s)
	}
	for _, s := range steps {
		if ctx.Err() != nil {
			return out, llm.Ended(ctx)
		}
		why, err := w.step(ctx, s)
		if err != nil {
			return out, err
		}
		switch {
		case why != "":
			out.Kept = append(out.Kept, RestoreLeft{s.Path, why})
		case s.After == nil || s.After.Kind != Dir:
			out.Changed = append(out.Changed, s.Path)
		}
	}
	for _, s := range slices.Backward(steps) {
		if phase(s) == making {
			w.shut(s)
		}
	}
	w.sweep(steps)
	out.Trashed = w.act.Present()
	return out, w.sync()
}

// sweep removes what is left of files that were being written.
func (w *work) sweep(steps []RestoreStep) {
	seen := map[string]bool{}
	for _, s := range steps {
		folder := path.Dir(s.Path)
		if seen[folder] {
			continue
		}
		seen[folder] = true
		if dir, close, err := w.enter(folder); err == nil {
			dir.Remove(w.temp) // mostly there is none
			close()
		}
	}
}

const (
	removing = iota
	making
	writing
)

func phase(s RestoreStep) int {
	switch {
	case s.After == nil || s.Before != nil && s.Before.Kind != s.After.Kind && s.Before.Kind == Dir:
		return removing
	case s.After.Kind == Dir:
		return making
	}
	return writing
}

// work is a restore under way.
type work struct {
	RestoreJournal
	root    *step.Root
	temp    string   // name of files that are being written
	beside  *os.Root // has files to be cloned; nil: there is none
	copies  bool     // the file system cannot clone them
	twins   map[string]bool
	touched map[string]bool // folders with new names
	act     TrashAct        // what goes to the trash
	// contents are the files in the trash; nil: not looked at yet.
	contents map[chain.Hash][]TrashEntry
}

// step does one step, or says why not. An error ends the restore: the disk failed.
func (w *work) step(ctx context.Context, s RestoreStep) (why string, err error) {
	dir, close, err := w.enter(path.Dir(s.Path))
	if err != nil {
		if s.After == nil && errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return explain(err)
	}
	defer close()
	name := path.Base(s.Path)
	now, err := look(dir, name)
	if err != nil {
		return explain(err)
	}
	bothDirs := now != nil && s.After != nil && now.Kind == Dir && s.After.Kind == Dir
	if same(now, s.After) || bothDirs { // its mode comes last
		w.touched[path.Dir(s.Path)] = true // a restore that was broken off may have made it, and not synced it
		return "", nil
	}
	if now != nil && s.Before != nil && s.Before.Kind == Dir && now.Kind == Dir && (s.After == nil || s.After.Kind != Dir) {
		if err := dir.Remove(name); err != nil {
			if now.Mode != s.Before.Mode { // it was opened
				dir.Chmod(name, s.Before.Perm())
			}
			return Occupied, nil
		}
		w.touched[path.Dir(s.Path)] = true
		if now = nil; s.After == nil {
			return "", nil
		}
	} else if !same(now, s.Before) && !(now == nil && s.After != nil) { // where nothing is, nothing is lost
		return Moved, nil
	}
	w.touched[path.Dir(s.Path)] = true
	switch {
	case s.After == nil:
		return explain(w.discard(dir, s))
	case s.After.Kind == Dir:
		return w.folder(dir, s, now)
	}
	if w.twins[s.Path] {
		if folds, err := w.folds(dir); err != nil || folds {
			return Twin, err
		}
	}
	return w.put(ctx, dir, s, now)
}

// folder makes a folder that can be written into, until shut.
func (w *work) folder(dir *step.Root, s RestoreStep, now *Node) (string, error) {
	if now != nil && now.Kind != Dir {
		if err := w.discard(dir, s); err != nil {
			return explain(err)
		}
		now = nil
	}
	if now == nil {
		if err := dir.Mkdir(path.Base(s.Path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return explain(err)
		}
	}
	return "", nil
}

// unlock lets its owner write into a folder whose mode is to change, or that is to go: the agent
// may have shut it. What is not ours stays as it is, and the steps in it say why.
func (w *work) unlock(s RestoreStep) {
	const all = 0o700
	if s.Before == nil || s.Before.Kind != Dir || s.Before.Mode&all == all {
		return
	}
	dir, close, err := w.enter(path.Dir(s.Path))
	if err != nil {
		return
	}
	defer close()
	if now, err := look(dir, path.Base(s.Path)); err == nil && now != nil && now.Kind == Dir && now.Mode == s.Before.Mode {
		dir.Chmod(path.Base(s.Path), s.Before.Perm()|all)
	}
}

// shut gives a folder its mode.
func (w *work) shut(s RestoreStep) {
	dir, close, err := w.enter(path.Dir(s.Path))
	if err != nil {
		return
	}
	defer close()
	if now, err := look(dir, path.Base(s.Path)); err == nil && now != nil && now.Kind == Dir && now.Mode != s.After.Mode {
		dir.Chmod(path.Base(s.Path), s.After.Perm())
	}
}

// put puts a file or link in its place, in one step.
func (w *work) put(ctx context.Context, dir *step.Root, s RestoreStep, now *Node) (string, error) {
	name, temp, at, to := path.Base(s.Path), w.temp, s.Path, *s.After
	dir.Remove(temp)
	if !w.clone(dir, temp, at, to) {
		why, err := w.make(ctx, dir, temp, at, to)
		if why == Unkept {
			return w.takeBack(dir, s, now)
		}
		if why != "" || err != nil {
			return why, err
		}
	}
	if again, err := look(dir, name); err != nil || !same(again, now) {
		dir.Remove(temp)
		return Moved, nil
	}
	if err := w.replace(dir, s, now, func() error { return dir.Rename(temp, name) }); err != nil {
		dir.Remove(temp)
		return explain(err)
	}
	return "", nil
}

// make makes a file or link of what was kept.
func (w *work) make(ctx context.Context, dir *step.Root, temp, at string, to Node) (string, error) {
	content, err := w.Get(ctx, to.Hash)
	switch {
	case ctx.Err() != nil:
		return "", llm.Ended(ctx)
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.StorageCorrupt):
		return w.copy(dir, temp, at, to)
	case err != nil:
		return "", err
	}
	if to.Kind == Link {
		err = dir.Symlink(string(content), temp)
	} else {
		err = w.write(dir, temp, bytes.NewReader(content), to)
	}
	if err != nil {
		dir.Remove(temp)
	}
	return explain(err)
}

func (w *work) write(dir *step.Root, temp string, content io.Reader, to Node) error {
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	if err := f.Chmod(to.Perm()); err != nil {
		return err
	}
	return f.Sync()
}

// folds reports whether the disk takes names that differ in case for one.
func (w *work) folds(dir *step.Root) (bool, error) {
	temp := ".ramet-" + strings.ToLower(rand.Text())
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	f.Close()
	defer dir.Remove(temp)
	_, err = dir.Lstat(strings.ToUpper(temp))
	return err == nil, nil
}

// enter opens a folder below the root, one after the other, none of them through a link.
func (w *work) enter(rel string) (dir *step.Root, close func(), err error) {
	dir, close = w.root, func() {}
	if rel == "." {
		return dir, close, nil
	}
	var open []*step.Root
	close = func() {
		for _, r := range open {
			r.Close()
		}
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := OpenTrash(dir, name)
		if err != nil {
			close()
			return nil, nil, err
		}
		open = append(open, next)
		dir = next
	}
	return dir, close, nil
}

// look returns what stands at a name; nil: nothing.
func look(dir *step.Root, name string) (*Node, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &Node{Name: name, Mode: bits(info.Mode())}
	switch {
	case info.IsDir():
		n.Kind = Dir
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := dir.Readlink(name)
		if err != nil {
			return nil, err
		}
		n.Kind, n.Mode, n.Size, n.Hash = Link, 0, int64(len(target)), chain.Sum([]byte(target))
	case info.Mode().IsRegular():
		n.Kind, n.Size = File, info.Size()
		n.Hash, err = sumFile(dir, name)
	default:
		n.Kind = Other
	}
	return n, err
}

// sumFile returns the hash of a file. A pipe is not waited for.
func sumFile(dir *step.Root, name string) (h chain.Hash, err error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return h, err
	}
	defer f.Close()
	s := sha256.New()
	if _, err := io.Copy(s, f); err != nil {
		return h, err
	}
	s.Sum(h[:0])
	return h, nil
}

// bits returns the twelve bits of chmod.
func bits(m fs.FileMode) uint16 {
	out := uint16(m.Perm())
	for mode, bit := range map[fs.FileMode]uint16{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&mode != 0 {
			out |= bit
		}
	}
	return out
}

// same is files.Same, but of folders only the kind counts, and of a link all but the size.
func same(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Kind == Dir:
		return a.Mode == b.Mode
	}
	return a.Hash == b.Hash && a.Mode == b.Mode
}

// explain makes a reason of what is one path's own; the disk's failures end the restore.
func explain(err error) (string, error) {
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, ErrNoFolder):
		return Occupied, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		return Moved, nil
	}
	f, _ := fault.Of(durable.Failure("restore", "", err))
	if f != nil && (f.Code == fault.StorageFull || f.Code == fault.StorageIO) {
		return "", f
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error(), nil
}

// sync makes the names in changed folders durable.
func (w *work) sync() error {
	for rel := range w.touched {
		dir, close, err := w.enter(rel)
		if err != nil {
			continue // it was removed
		}
		err = syncFolder(dir)
		close()
		if err != nil {
			return durable.Failure("sync folder", filepath.Join(w.root.Name(), filepath.FromSlash(rel)), err)
		}
	}
	return nil
}
