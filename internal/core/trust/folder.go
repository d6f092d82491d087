package trust

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/step"
	"ramet/internal/base/text"
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

// InstructionFiles are the names of instructions; of a folder the first counts that was
// accepted.
var InstructionFiles = []string{"AGENTS.override.md", "AGENTS.md", "CLAUDE.md"}

// ImportDepth sets how many files may stand between instructions and what they import.
const ImportDepth = 5

// mostFound limits how many files of instructions a project may have.
const mostFound = 2000

// notLookedAt are folders whose files are other projects', or ramet's own.
var notLookedAt = []string{".git", ".hg", ".svn", ".ramet", "node_modules"}

// LookedAt reports whether instructions at a path of a project can act at all: those in folders
// of other projects never do.
func LookedAt(p string) bool {
	for dir := range strings.SplitSeq(path.Dir(p), "/") {
		if slices.Contains(notLookedAt, dir) {
			return false
		}
	}
	return true
}

// instructionsSource returns the source of the files of instructions in all folders of a project, and
// of what they import.
func instructionsSource() Source {
	return Source{Instructions, func(g *Ground) ([]Thing, error) {
		found, err := g.named(InstructionFiles)
		if err != nil {
			return nil, err
		}
		if len(found) > mostFound {
			return []Thing{{Path: ".", Does: "instructions", Refused: fmt.Sprintf("there are more than %d files of instructions", mostFound)}}, nil
		}
		c := collection{ground: g, seen: map[string]bool{}}
		for _, p := range found {
			if err := c.add(p, doesInstruct(p), 0); err != nil {
				return nil, err
			}
		}
		return c.things, nil
	}}
}

func doesInstruct(p string) string {
	if dir := path.Dir(p); dir != "." {
		return "joins a conversation that touches files below " + dir + ", with the authority of a user"
	}
	return "is put before every conversation, with the authority of a user"
}

// collection is files of instructions, each once.
type collection struct {
	ground *Ground
	seen   map[string]bool
	things []Thing
}

func (c *collection) add(p, does string, depth int) error {
	if c.seen[p] {
		return nil
	}
	c.seen[p] = true
	t, ok, err := c.ground.thing(p, does, mostInstructions)
	if err != nil || !ok {
		return err
	}
	c.things = append(c.things, t)
	if depth == ImportDepth {
		return nil
	}
	for _, m := range Imports(p, string(t.Data)) {
		if m.Outside || !c.ground.plain(m.Path) {
			continue
		}
		if err := c.add(m.Path, "is imported by "+p+" and stands with it", depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Import is a file that instructions name behind an @.
type Import struct {
	Said    string // as it is written
	Path    string // below the project
	Outside bool   // it leads out of the project, or into another
}

// Imports returns what the instructions at a path of a project name. Whether there are such files
// no person has looked.
func Imports(from, body string) []Import {
	var out []Import
	for _, m := range text.Mentions(body) {
		i := Import{Said: m.Path, Path: path.Join(path.Dir(from), m.Path)}
		i.Outside = strings.HasPrefix(m.Path, "/") || strings.HasPrefix(m.Path, "~") || !filepath.IsLocal(filepath.FromSlash(i.Path)) || !LookedAt(i.Path)
		out = append(out, i)
	}
	return out
}

// plain reports whether there is a file, or a link, at a path.
func (g *Ground) plain(p string) bool {
	info, err := g.root.Lstat(filepath.FromSlash(p))
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		target, err := g.root.Stat(filepath.FromSlash(p))
		return Escapes(err) || err == nil && target.Mode().IsRegular()
	}
	return err == nil && info.Mode().IsRegular()
}

// named finds all files of some names, without following links to folders.
func (g *Ground) named(names []string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(g.dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist):
			return nil // what cannot be read cannot act
		case err != nil:
			return err
		case d.IsDir() && at != g.dir && slices.Contains(notLookedAt, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(names, d.Name()):
			return nil
		case len(out) > mostFound:
			return fs.SkipAll
		}
		rel, err := filepath.Rel(g.dir, at)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return out, nil
}
