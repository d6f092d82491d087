package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/text"
)

// GuardWatch is one command's time in some folders.
type GuardWatch struct {
	into   string // the quarantine
	places []watched
	moved  []GuardMoved // by Patrol; its goroutine's until it has ended
}

// place is a folder of a watch, as it was when the watch began.
type watched struct {
	index  *index
	before map[guardIdentity]bool
	kept   []string
	shut   map[string]guardIdentity
	never  []string // paths below it that must not come into being
}

// BeginGuard looks at folders, of which none may lie in another. Forbidden are paths that must
// not come into being, whatever is in them. What has to go is moved below the folder
// into, which is made when needed.
func BeginGuard(folders, forbidden []string, into string) (*GuardWatch, error) {
	w := &GuardWatch{into: into}
	for _, dir := range folders {
		if slices.ContainsFunc(folders, func(other string) bool { return belowGuard(dir, other) }) {
			continue
		}
		x := indexOf(dir)
		found, shut, err := x.look()
		if err != nil {
			return nil, fmt.Errorf("look for names that others execute in %s: %w", dir, err)
		}
		p := watched{index: x, before: map[guardIdentity]bool{}, shut: shut}
		for _, t := range found {
			p.before[t.id] = true
			if t.kind == part {
				continue // a file like others
			}
			p.kept = append(p.kept, filepath.Join(dir, t.path))
			if t.kind == repository {
				elsewhere := obeyedElsewhere(dir, t.path)
				p.kept, forbidden = append(p.kept, elsewhere...), slices.Concat(forbidden, elsewhere)
			}
		}
		p.never = absentBelow(dir, forbidden)
		w.places = append(w.places, p)
	}
	return w, nil
}

// GuardState is a watch as it was begun, for another process that ends it.
type GuardState struct{ Places []PlaceState }

// PlaceState is one folder of it.
type PlaceState struct {
	Folder string
	Before []guardIdentity
	Shut   map[string]guardIdentity
	Never  []string
}

// Into returns the quarantine.
func (w *GuardWatch) Into() string { return w.into }

// State returns what Resume needs.
func (w *GuardWatch) State() *GuardState {
	s := &GuardState{}
	for _, p := range w.places {
		s.Places = append(s.Places, PlaceState{p.index.root, slices.Collect(maps.Keys(p.before)), p.shut, p.never})
	}
	return s
}

// ResumeGuard returns the watch that another process has begun, with a quarantine as this one
// sees it.
func ResumeGuard(s *GuardState, into string) *GuardWatch {
	w := &GuardWatch{into: into}
	for _, p := range s.Places {
		before := map[guardIdentity]bool{}
		for _, id := range p.Before {
			before[id] = true
		}
		w.places = append(w.places, watched{index: indexOf(p.Folder), before: before, shut: p.Shut, never: p.Never})
	}
	return w
}

// Kept returns what was there when the watch began: to be made read-only.
func (w *GuardWatch) Kept() []string {
	var out []string
	for _, p := range w.places {
		out = append(out, p.kept...)
	}
	return out
}

// GuardMoved is something that was taken away.
type GuardMoved struct {
	Path  string // where it was, below its folder
	Why   string
	To    string // where it is; empty: it could not be moved
	Aside bool   // it is the command's version of something that another program changed
}

func (m GuardMoved) String() string {
	if m.To == "" {
		return fmt.Sprintf("%s: %s", text.Line(m.Path, 200), m.Why)
	}
	if m.Aside {
		return fmt.Sprintf("%s was not applied, and is in %s: %s", text.Line(m.Path, 200), text.Line(m.To, 300), m.Why)
	}
	return fmt.Sprintf("%s was moved to %s: %s", text.Line(m.Path, 200), text.Line(m.To, 300), m.Why)
}

// End judges what came since the beginning. Nothing of the command may run any more. An
// error says that it could not look everywhere.
func (w *GuardWatch) End() ([]GuardMoved, error) {
	out := w.moved
	var errs []error
	for _, p := range w.places {
		moved, err := p.judge(w.into, func(string) bool { return true })
		out = append(out, moved...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return out, errors.Join(errs...)
}

// Patrol judges while a command runs for long, until stop is closed, and moves what was
// not harmless at two looks: what is half written at the first is whole at the second.
// End, after it has returned, tells of that too.
func (w *GuardWatch) Patrol(stop <-chan struct{}, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	suspect := map[string]bool{}
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		now := map[string]bool{}
		for _, p := range w.places {
			moved, _ := p.judge(w.into, func(path string) bool { // what fails is told at the end
				at := filepath.Join(p.index.root, path)
				now[at] = true
				return suspect[at]
			})
			w.moved = append(w.moved, moved...)
		}
		suspect = now
	}
}

// judge moves what came since the beginning and may not stay, where sure agrees.
func (p watched) judge(into string, sure func(path string) bool) ([]GuardMoved, error) {
	root, err := os.OpenRoot(p.index.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // with everything in it
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	found, failed := p.search(root)
	q := quarantine{root: root, dir: p.index.root, into: into}
	var out []GuardMoved
	for _, t := range found {
		if p.before[t.id] {
			continue
		}
		if why := judgeThing(root, t); why != "" && sure(t.path) {
			out = append(out, q.move(t.path, why))
		}
	}
	for _, rel := range p.never {
		if at, ok := resolvePath(root, p.index.root, rel); ok && sure(at) {
			out = append(out, q.move(at, "ramet or git would obey it"))
		}
	}
	return out, failed
}

// resolvePath reports whether there is something at a path, and what has to go for it: the path itself, or a
// link on the way, wherever that leads.
func resolvePath(root *os.Root, dir, rel string) (at string, ok bool) {
	if _, err := os.Lstat(filepath.Join(dir, rel)); err != nil {
		return "", false
	}
	for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		at = path.Join(at, name)
		info, err := root.Lstat(at)
		if err != nil {
			return "", false // it went meanwhile
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			break
		}
	}
	return at, true
}

// search looks again, also into folders that the command has closed. With an error comes what
// was found all the same.
func (p watched) search(root *os.Root) (found []thing, err error) {
	for range deepest / 2 { // a folder that was closed may hold another one, whose name has a letter at least
		var shut map[string]guardIdentity
		if found, shut, err = p.index.look(); err != nil {
			return found, err
		}
		opened := false
		for at, id := range shut {
			if p.shut[at] != id && root.Chmod(at, 0o700) == nil {
				opened = true
			}
		}
		if !opened {
			return found, nil
		}
	}
	return found, fmt.Errorf("folders in %s that cannot be opened", p.index.root)
}

// belowGuard reports whether a path lies in a folder.
func belowGuard(p, dir string) bool { return strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") }

// indexes are remembered for a few folders: an agent works in one, for long.
var indexes struct {
	sync.Mutex
	recent []*index
}

const mostIndexes = 16

func indexOf(dir string) *index {
	indexes.Lock()
	defer indexes.Unlock()
	i := slices.IndexFunc(indexes.recent, func(x *index) bool { return x.root == dir })
	x := &index{root: dir}
	if i >= 0 {
		x = indexes.recent[i]
		indexes.recent = slices.Delete(indexes.recent, i, i+1)
	}
	indexes.recent = append(indexes.recent, x)
	if len(indexes.recent) > mostIndexes {
		indexes.recent = indexes.recent[1:]
	}
	return x
}

// obeyedElsewhere returns what the configuration of a repository, or that of the user, names among the files of a folder: where
// hooks are, and files that are included. What is missing is returned, too.
func obeyedElsewhere(dir, repo string) (out []string) {
	home, _ := os.UserHomeDir()
	tree, own := filepath.Join(dir, path.Dir(repo)), filepath.Join(dir, repo)
	if link, err := os.ReadFile(own); err == nil { // of a worktree
		own = resolveBelow(tree, strings.TrimSpace(strings.TrimPrefix(string(link), "gitdir:")))
	}
	common := own
	if link, err := os.ReadFile(filepath.Join(own, "commondir")); err == nil {
		common = resolveBelow(own, strings.TrimSpace(string(link)))
	}
	files := []string{filepath.Join(common, "config"), filepath.Join(own, "config.worktree"), filepath.Join(home, ".gitconfig"),
		filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"), "/etc/gitconfig"}
	for i := 0; i < len(files) && i < 50; i++ { // files that are included include others
		config, err := os.ReadFile(files[i])
		if err != nil || len(config) > maxConfig {
			continue
		}
		// What is not in the plain form is no name of a file, as a rule.
		plain := slices.DeleteFunc(strings.Split(string(config), "\n"), func(line string) bool {
			_, err := parseConfig("[x]\n" + line)
			return err != nil
		})
		keys, _ := parseConfig(strings.Join(plain, "\n"))
		for _, k := range keys {
			base := tree
			k.value, _, _ = strings.Cut(strings.ReplaceAll(k.value, " ;", " #"), " #")
			if k.name == "include.path" || strings.HasPrefix(k.name, "includeif.") && strings.HasSuffix(k.name, ".path") {
				base = filepath.Dir(files[i])
			} else if k.name != "core.hookspath" {
				continue
			}
			if rest, ok := strings.CutPrefix(k.value, "~/"); ok {
				base, k.value = home, rest
			}
			at := resolveBelow(base, k.value)
			if base != tree {
				files = append(files, at)
			}
			if belowGuard(at, dir) {
				out = append(out, at)
			}
		}
	}
	return out
}

// resolveBelow returns a path, which may be relative to a folder.
func resolveBelow(folder, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, name)
}
