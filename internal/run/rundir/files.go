package rundir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// Files are the files of a run, below its folder. Paths are relative, with slashes; none
// leads out of the folder, also not over a symbolic link.
type Files struct {
	dir  string
	root *step.Root
}

// OpenFiles opens the files of a run.
func (s *Store) OpenFiles(runID string) (*Files, error) {
	root, err := s.enter(runID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.gone(runID)
	}
	if err != nil {
		return nil, err
	}
	return &Files{s.Dir(runID), step.In(root)}, nil
}

// Close gives back the folder.
func (f *Files) Close() error { return f.root.Close() }

// Dir is the folder itself.
func (f *Files) Dir() string { return f.dir }

// Read gives the content of a file; NOT_FOUND if it is not there.
func (f *Files) Read(name string) ([]byte, error) {
	data, err := f.root.ReadFile(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "there is no %s in %s", name, f.dir)
	case err != nil:
		return nil, durable.Failure("read", filepath.Join(f.dir, name), err)
	}
	return data, nil
}

// Hash is the SHA-256 of a file as it is now.
func (f *Files) Hash(name string) (string, bool) {
	file, err := f.root.Open(filepath.FromSlash(name))
	if err != nil {
		return "", false
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", false
	}
	return hex.EncodeToString(sum.Sum(nil)), true
}

// Below lists the files below a folder, sorted. Those that are being written are not
// among them.
func (f *Files) Below(folder string) ([]string, error) {
	var out []string
	err := fs.WalkDir(f.root.FS(), path.Clean(folder), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), stagePrefix):
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		return nil, durable.Failure("read", filepath.Join(f.dir, folder), err)
	}
	slices.Sort(out)
	return out, nil
}

// Remove takes a file away.
func (f *Files) Remove(name string) error {
	if err := f.root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return durable.Failure("remove", filepath.Join(f.dir, name), err)
	}
	return nil
}

// stagePrefix marks files that wait for their names.
const stagePrefix = ".staged-"

// Staged is a file that is durable and waits for its name.
type Staged struct {
	files      *Files
	temp, name string
}

// Stage writes content under another name in the same folder.
func (f *Files) Stage(name string, data []byte) (*Staged, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name {
		return nil, fault.New(fault.InvalidText, "%.120q is not a path below the run's folder", name)
	}
	full := filepath.Join(f.dir, filepath.FromSlash(name))
	fail := func(err error) (*Staged, error) { return nil, durable.Failure("write", full, err) }
	if err := f.makeFolders(path.Dir(name)); err != nil {
		return fail(err)
	}
	s := &Staged{files: f, temp: path.Join(path.Dir(name), stagePrefix+rand.Text()[:8]+"-"+path.Base(name)), name: name}
	file, err := f.root.OpenFile(filepath.FromSlash(s.temp), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fail(err)
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		s.Discard()
		return fail(err)
	}
	return s, nil
}

// makeFolders makes a folder with those above it, each durable before the next.
func (f *Files) makeFolders(folder string) error {
	if folder == "." {
		return nil
	}
	if info, err := f.root.Stat(filepath.FromSlash(folder)); err == nil && info.IsDir() {
		return nil
	}
	if err := f.makeFolders(path.Dir(folder)); err != nil {
		return err
	}
	if err := f.root.Mkdir(filepath.FromSlash(folder), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return durable.SyncFolder(filepath.Join(f.dir, filepath.FromSlash(path.Dir(folder))))
}

// Commit gives the file its name, in place of what had it.
func (s *Staged) Commit() error {
	full := filepath.Join(s.files.dir, filepath.FromSlash(s.name))
	if err := s.files.root.Rename(filepath.FromSlash(s.temp), filepath.FromSlash(s.name)); err != nil {
		return durable.Failure("write", full, err)
	}
	return durable.SyncFolder(filepath.Dir(full))
}

// Discard takes the file away, unless it has its name already.
func (s *Staged) Discard() { s.files.root.Remove(filepath.FromSlash(s.temp)) }
