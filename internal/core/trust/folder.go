package trust

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
)

// Folder is a folder that ramet keeps its own files in: runs, a ledger. One inside of a
// project is opened below it; one elsewhere the user has named, and it is the user's will.
type Folder struct {
	Project string // real path; empty: none
	Dir     string
	Hint    string // what to do about a link
}

// Open opens the folder, or one below it. One that is not there is fs.ErrNotExist, and
// one that is reached over a link which leads out of the project DENIED.
func (f Folder) Open(below ...string) (*os.Root, error) {
	base, rel := f.base()
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, f.failure("open", err)
	}
	rel = filepath.Join(append([]string{rel}, below...)...)
	if rel == "." {
		return root, nil
	}
	defer root.Close()
	in, err := root.OpenRoot(rel)
	if err != nil {
		return nil, f.failure("open", err)
	}
	return in, nil
}

// Make makes the folder with those above it, durably, and opens it.
func (f Folder) Make(perm fs.FileMode) (*os.Root, error) {
	base, rel := f.base()
	if base == f.Dir { // the user's: also those above it
		if err := durable.MakeFolder(base, perm); err != nil {
			return nil, err
		}
		return f.Open()
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, f.failure("open", err)
	}
	defer root.Close()
	at := ""
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		above := at
		at = filepath.Join(at, part)
		err := step.In(root).Mkdir(at, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = syncNames(root, above)
		}
		if err != nil {
			return nil, f.failure("make folder", err)
		}
	}
	in, err := root.OpenRoot(rel)
	if err != nil {
		return nil, f.failure("make folder", err)
	}
	return in, nil
}

// Stays reports whether the folder, or the file in its place, is where its path says: in
// the project, if the path is. It need not be there.
func (f Folder) Stays() error {
	base, rel := f.base()
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil // then nothing leads anywhere
	}
	defer root.Close()
	if _, err := root.Stat(rel); Escapes(err) {
		return f.failure("open", err)
	}
	return nil
}

// Plain opens the folder, or one below it, and refuses it if a name in it is a link:
// ramet makes none there, and a caller that writes would write elsewhere. Names are all, if
// none are given.
func (f Folder) Plain(names []string, below ...string) (*os.Root, error) {
	root, err := f.Open(below...)
	if err != nil {
		return nil, err
	}
	if err := f.plain(root, names, below); err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func (f Folder) plain(root *os.Root, names, below []string) error {
	refuse := func(name string) error {
		path := filepath.Join(append(append([]string{f.Dir}, below...), name)...)
		return fault.New(fault.Denied, "%s is a link, where ramet keeps a file of its own", path).
			WithHint("nothing was touched; look where it leads, and remove it")
	}
	for _, name := range names {
		if info, err := root.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return refuse(name)
		}
	}
	if len(names) > 0 {
		return nil
	}
	all, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return durable.Failure("read", f.Dir, err)
	}
	for _, e := range all {
		if e.Type() == fs.ModeSymlink {
			return refuse(e.Name())
		}
	}
	return nil
}

// base returns the folder that is opened by its path, and the way from there.
func (f Folder) base() (base, rel string) {
	if f.Project != "" {
		rel, err := filepath.Rel(f.Project, f.Dir)
		if err == nil && filepath.IsLocal(rel) {
			return f.Project, rel
		}
	}
	return f.Dir, "."
}

func (f Folder) failure(verb string, err error) error {
	switch {
	case Escapes(err):
		return fault.New(fault.Denied, "%s is a link that leads out of the project", f.Dir).WithHint("%s", f.Hint)
	case isMissing(err):
		return fs.ErrNotExist
	}
	return durable.Failure(verb, f.Dir, err)
}

// syncNames makes the names in a folder durable.
func syncNames(root *os.Root, dir string) error {
	dir = cmp.Or(dir, ".")
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(step.Of(d).Sync(), d.Close())
}
