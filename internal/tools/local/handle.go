package local

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/step"
	"ramet/internal/base/text"
	"ramet/internal/launch/sandbox"
)

// handle is a place in the root: an open folder, which is known to be inside, and a
// name in it.
type handle struct {
	dir  *os.Root
	name string
	rel  string      // the real path in the root, with slashes; "." is the root; below the agent's /tmp absolute
	info fs.FileInfo // of the name itself, never a link; nil: there is nothing

	open []*os.Root // all to be closed
}

func (s *handle) close() {
	for _, dir := range s.open {
		dir.Close()
	}
}

// aim names the purpose of a lookup.
type aim int

const (
	toRead  aim = iota
	toName      // to say what is meant, should it not exist yet
	toWrite     // some names are ramet's own
	toMake      // and folders on the way are made
)

// mostLinks limits how many links a path may go through.
const mostLinks = 40

// temporary names the folder at which confined commands find Options.Temp.
const temporary = "/tmp"

// isTemporary reports whether a cleaned path is in the agent's own /tmp. A root below /tmp is at its path. Whether
// commands can be confined is asked last: the answer needs a process.
func (l *Local) isTemporary(path string) bool {
	within := func(folder string) bool {
		rel, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(rel)
	}
	return l.o.Temp != "" && filepath.IsAbs(path) && within(temporary) && !within(l.o.Root) && sandbox.Available() == nil
}

// makeTemp makes the folder of the agent's /tmp, and returns its real path.
func (l *Local) makeTemp() (string, error) {
	if l.o.Temp == "" {
		return "", fs.ErrNotExist
	}
	if err := step.MkdirAll(l.o.Temp, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(l.o.Temp) // its parents are the user's alone
}

// openBase opens the folder in which a path that relative returned is: the root or the agent's /tmp. It returns the
// rest of the path, and what stands for the folder in paths.
func (l *Local) openBase(rel string) (base *os.Root, prefix, rest string, err error) {
	if !l.isTemporary(rel) {
		if base, err = os.OpenRoot(l.o.Root); err != nil {
			err = sentenceError("The workspace cannot be opened: %w", err)
		}
		return base, "", rel, err
	}
	dir, err := l.makeTemp()
	if err == nil {
		base, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, "", "", sentenceError("/tmp cannot be opened: %w", err)
	}
	return base, temporary, strings.TrimPrefix(strings.TrimPrefix(rel, temporary), "/"), nil
}

// relative returns a path as a model writes it, cleaned, with slashes: relative to the
// root or absolute inside it. One in the agent's own /tmp stays absolute.
func (l *Local) relative(p string) (string, error) {
	p = cmp.Or(p, ".")
	if strings.IndexByte(p, 0) >= 0 {
		return "", sentenceError("A path can't contain a NUL: %s", showPath(p))
	}
	rel := filepath.Clean(p)
	if l.isTemporary(rel) {
		return rel, nil
	}
	if filepath.IsAbs(rel) {
		var err error
		if rel, err = filepath.Rel(l.o.Root, rel); err != nil {
			return "", l.leaves(p)
		}
	}
	if rel != "." && !filepath.IsLocal(rel) {
		return "", l.leaves(p)
	}
	return filepath.ToSlash(rel), nil
}

func (l *Local) leaves(p string) error {
	return sentenceError("%s is outside the workspace, %s. Only files in it can be used.", showPath(p), l.o.Root)
}

// hidden reports whether this is a folder or file of ramet itself, as where the
// workspace is the user's home.
func (l *Local) hidden(info fs.FileInfo) bool {
	return slices.ContainsFunc(l.own, func(own fs.FileInfo) bool { return os.SameFile(own, info) })
}

// forbids says the same of a path below the root at which nothing may be yet.
func (l *Local) forbids(rel string) bool {
	at := filepath.Join(l.o.Root, filepath.FromSlash(rel))
	return slices.ContainsFunc(l.o.Forbid, func(f string) bool { return sandbox.RealPath(f) == at })
}

// owns is hidden for a walk: it looks closer only where the name fits.
func (l *Local) owns(dir *os.Root, entry fs.DirEntry) bool {
	if !slices.ContainsFunc(l.own, func(own fs.FileInfo) bool { return strings.EqualFold(own.Name(), entry.Name()) }) {
		return false
	}
	info, err := dir.Lstat(entry.Name())
	return err != nil || l.hidden(info)
}

// showPath returns a path in a sentence.
func showPath(p string) string { return text.Line(p, 300) }

// find walks to a place, folder by folder. No folder on the way is a link when it is
// entered: links are read here and their targets walked to in turn, so that each
// name is checked, and nothing that is swapped meanwhile leads astray.
func (l *Local) find(p string, a aim) (found *handle, err error) {
	rel, err := l.relative(p)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(rel, "/") { // before any folder is made
		if err := refuseName(name, a); err != nil {
			return nil, err
		}
	}
	root, prefix, rel, err := l.openBase(rel)
	if err != nil {
		return nil, err
	}
	s := &handle{open: []*os.Root{root}}
	join := func(names ...string) string { return path.Join(append([]string{prefix}, names...)...) }
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	dirs, names := []*os.Root{root}, []string{} // where we are, and how we came here
	todo := strings.Split(rel, "/")
	for links := 0; len(todo) > 0; {
		name, dir := todo[0], dirs[len(dirs)-1]
		todo = todo[1:]
		if name == "." || name == "" {
			continue
		}
		if name == ".." {
			if len(names) == 0 {
				return nil, l.leaves(p)
			}
			dirs, names = dirs[:len(dirs)-1], names[:len(names)-1]
			continue
		}
		if err := refuseName(name, a); err != nil {
			return nil, err
		}
		if len(names) > 0 && isTrash(names[len(names)-1], name) {
			return nil, sentenceError("%s is ramet's own, and not for tools.", showPath(p))
		}
		if a >= toWrite && ofRepository(dir, name) {
			return nil, sentenceError("%s would be a part of a repository of git, which runs what is written there. Use git itself, with bash.", showPath(p))
		}
		if a >= toWrite && prefix == "" && l.forbids(path.Join(append(slices.Clone(names), name)...)) {
			return nil, sentenceError("%s is ramet's own, and not for tools.", showPath(p))
		}
		info, err := dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) && len(todo) > 0 && a == toMake {
			perm, masked := l.mode(0o777)
			made := step.In(dir).Mkdir(name, perm)
			if made != nil && !errors.Is(made, fs.ErrExist) {
				return nil, explainPath(p, made)
			}
			info, err = dir.Lstat(name)
			if made == nil && masked && err == nil && info.IsDir() && info.Mode().Perm() != perm {
				err = step.In(dir).Chmod(name, info.Mode()&fs.ModeSetgid|perm)
			}
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && (len(todo) == 0 || a == toName):
			s.dir, s.name, s.rel = dir, name, join(append(append(names, name), todo...)...)
			return s, nil
		case err != nil:
			return nil, explainPath(p, err)
		case l.hidden(info):
			return nil, sentenceError("%s is ramet's own, and not for tools.", showPath(p))
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > mostLinks {
				return nil, sentenceError("%s goes through too many links.", showPath(p))
			}
			target, err := dir.Readlink(name)
			if err != nil {
				return nil, explainPath(p, err)
			}
			if filepath.IsAbs(target) {
				inside, err := l.relative(target)
				if err != nil || l.isTemporary(inside) != (prefix != "") {
					return nil, sentenceError("%s is a link that leads out of the workspace.", showPath(p))
				}
				dirs, names, target = dirs[:1], names[:0], strings.TrimPrefix(inside, prefix)
			}
			todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
		case info.IsDir() && len(todo) > 0:
			next, err := dir.OpenRoot(name)
			if err != nil {
				return nil, explainPath(p, err)
			}
			s.open = append(s.open, next)
			if now, err := next.Stat("."); err != nil || !os.SameFile(info, now) {
				return nil, sentenceError("%s changed while it was looked up. Nothing was done.", showPath(p))
			}
			dirs, names = append(dirs, next), append(names, name)
		case len(todo) > 0:
			return nil, sentenceError("%s: %s is not a folder.", showPath(p), showPath(join(append(names, name)...)))
		default:
			s.dir, s.name, s.info, s.rel = dir, name, info, join(append(names, name)...)
			return s, nil
		}
	}
	s.dir, s.name, s.rel = dirs[len(dirs)-1], ".", cmp.Or(join(names...), ".")
	if s.info, err = s.dir.Stat("."); err != nil {
		return nil, explainPath(p, err)
	}
	return s, nil
}

// explainPath describes what is wrong with a path, in a sentence.
func explainPath(p string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sentenceError("There is no %s.", showPath(p))
	case errors.Is(err, fs.ErrPermission):
		return sentenceError("%s: permission denied.", showPath(p))
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return sentenceError("%s: %v", showPath(p), err)
}

// missing returns the error that there is nothing, with what was perhaps meant.
func (l *Local) missing(p string) error {
	err := explainPath(p, fs.ErrNotExist)
	rel, bad := l.relative(p)
	if bad != nil {
		return err
	}
	dir, bad := l.find(path.Dir(rel), toRead)
	if bad != nil {
		return err
	}
	defer dir.close()
	f, bad := dir.dir.Open(dir.name)
	if bad != nil {
		return err
	}
	defer f.Close()
	names, _ := f.Readdirnames(mostCompared)
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(n string) bool { return refuseName(n, toWrite) != nil })
	if near := text.NearestWord(path.Base(rel), names); near != "" {
		return sentenceError("%w Did you mean %s?", err, showPath(path.Join(path.Dir(rel), near)))
	}
	return err
}
