package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ramet/internal/base/chain"
	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/files/git"
)

// PastOptions configures the past of a workspace.
type PastOptions struct {
	Dir        string   // where it lies; made when needed
	Home       string   // the user's own: no folder to take states of
	Hide       []string // ramet's own files and folders
	Ignored    bool     // ignored files too
	Env        []string
	Shared     SharedContents    // where hosts share contents; nil: they do not
	Repository string            // has what git names, where the folder of a state is on another host
	Secret     func([]byte) bool // a content that holds a credential of ours; nil: none does
	// Largest and Most limit what is kept, as in scan.Options; 0: their defaults.
	Largest, Most int64
}

// Past is the past of the folders of one workspace. It is safe for concurrent use.
type Past struct {
	o       PastOptions
	store   *Contents
	trash   Trash
	journal RestoreJournal
	calls   calls

	mu      sync.Mutex
	folders map[string]*PastFolder
}

// OpenPast returns the past in a folder. Nothing is read yet.
func OpenPast(o PastOptions) *Past {
	p := &Past{o: o, folders: map[string]*PastFolder{}}
	p.store = NewContents(o.Dir, p.cat)
	if o.Shared != nil {
		p.store.Share(o.Shared)
	}
	p.trash = Trash{Dir: filepath.Join(o.Dir, "trash")}
	p.journal = RestoreJournal{Dir: filepath.Join(o.Dir, "restores"), Get: p.store.Get, Trash: p.trash}
	p.calls.lines.path = filepath.Join(o.Dir, "calls")
	return p
}

// hidden returns the places of ramet's own files, when a folder is looked at first; some come later,
// so that the folder they will be in counts.
func (p *Past) hidden() []string {
	folders := map[string]string{} // most of them lie in one
	var out []string
	for _, h := range append([]string{p.o.Dir}, p.o.Hide...) {
		above := filepath.Dir(filepath.Clean(h))
		if _, known := folders[above]; !known {
			folders[above] = realPast(above)
		}
		at := filepath.Join(folders[above], filepath.Base(h))
		if info, err := os.Lstat(at); err == nil && info.Mode().Type() == fs.ModeSymlink {
			at = realPast(h)
		}
		out = append(out, at)
	}
	return out
}

// realPast returns the one name of a path, as far as it exists.
func realPast(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// cat reads an object of a repository, or of the one that stands for it here.
func (p *Past) cat(ctx context.Context, repo, oid string) ([]byte, error) {
	out, err := git.Run(ctx, p.repository(repo), "cat-file", "blob", oid)
	return []byte(out), err
}

// repository returns a repository, or the one that stands for it on this host.
func (p *Past) repository(repo string) string {
	if _, err := os.Stat(repo); err != nil && p.o.Repository != "" {
		return p.o.Repository
	}
	return repo
}

// Trash returns where files go that a restore takes away and could not bring back.
func (p *Past) Trash() Trash { return p.trash }

// Store has the contents of states.
func (p *Past) Store() *Contents { return p.store }

// Folder returns a folder whose states are taken. The user's home, and what holds it, is refused:
// DENIED.
func (p *Past) Folder(dir string) (*PastFolder, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fault.New(fault.NotFound, "no folder %s: %w", dir, err)
	}
	if home := realPast(p.o.Home); root == "/" || p.o.Home != "" && inside(home, root) {
		return nil, fault.New(fault.Denied, "no states are taken of %s: it is your home folder, or contains it", root).
			WithHint("work in a folder of its own")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.folders[root]; ok {
		return f, nil
	}
	sum := sha256.Sum256([]byte(root))
	f := &PastFolder{past: p, root: root, dir: filepath.Join(p.o.Dir, "folders", hex.EncodeToString(sum[:8]))}
	f.scanner = NewScan(ScanOptions{Root: root, Hide: p.hidden(), Ignored: p.o.Ignored, Env: p.o.Env, Secret: p.o.Secret,
		Largest: p.o.Largest, Most: p.o.Most})
	p.folders[root] = f
	return f, nil
}

// inside reports whether a path is a folder, or lies below it.
func inside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// Disk returns how much of the disk the past takes, without the trash.
func (p *Past) Disk() int64 {
	size, _ := FolderSize(p.o.Dir, p.trash.Dir)
	return size
}

// FolderSize adds up the files in a folder, except for those in another one, and returns when something in it changed
// last; zero: it does not exist. What cannot be read is left out.
func FolderSize(dir, except string) (size int64, newest time.Time) {
	filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if at == except {
			return fs.SkipDir
		}
		if info, err := e.Info(); err == nil {
			if info.Mode().IsRegular() {
				size += info.Size()
			}
			if info.ModTime().After(newest) {
				newest = info.ModTime()
			}
		}
		return nil
	})
	return size, newest
}

// now returns the time.
func now() int64 { return time.Now().UnixNano() }

// pastStep is one state of a folder, and what changed since the one before.
type pastStep struct {
	N    int64      `json:"n"`
	At   int64      `json:"at"`
	Root chain.Hash `json:"root"`
	// By has for each path that changed, escaped, whose change it is; empty: foreign to all.
	By map[string]id.Agent `json:"by,omitempty"`
	// During has for paths that changed while a call of one agent was running whose call that was.
	// The agent may have changed them, or a person; in By they are foreign.
	During map[string]id.Agent `json:"during,omitempty"`
	// Lost reports that what changed is unknown.
	Lost bool `json:"lost,omitempty"`
}

func (f *PastFolder) stepsFile() string { return filepath.Join(f.dir, "steps") }

// steps reads those after one, oldest first. last is the newest of all; N is 0 where there
// is none.
func (f *PastFolder) steps(after int64) (found []pastStep, last pastStep, err error) {
	all := jsonLines{path: f.stepsFile()}
	err = all.read(func() {}, func(line []byte) {
		var s pastStep
		if json.Unmarshal(line, &s) != nil {
			s = pastStep{N: last.N, Root: last.Root, Lost: true}
		}
		if last = s; s.N > after {
			found = append(found, s)
		}
	})
	return found, last, err
}

// latest returns the newest step; N is 0 where there is none. Only what was added since is read.
func (f *PastFolder) latest() (pastStep, error) {
	f.added.path = f.stepsFile()
	err := f.added.read(func() { f.last = pastStep{} }, func(line []byte) {
		var s pastStep
		if json.Unmarshal(line, &s) == nil {
			f.last = s
		}
	})
	return f.last, err
}

// noted is the step of a state, and what changed since the one before.
type noted struct {
	pastStep
	before  chain.Hash // the root of that one
	changes []Change
}

// author names the agent that made a change.
type author struct {
	agent id.Agent // empty: it is foreign to all
	sure  bool     // false: it happened while a call of the agent was running
}

// errStale reports that other states were noted since a walk began: what it saw may be older.
var errStale = errors.New("a newer state is noted")

// anyStep is a since that no state is too new for.
const anyStep = -1

// note adds a state to the folder's, if it is another than the last. Whose changes are is
// told by whose, once they are known. If states were added since the step since, nothing is noted:
// errStale.
func (f *PastFolder) note(root chain.Hash, since int64, src Source, whose func([]Change) func(Change) author) (n noted, err error) {
	err = durable.While(f.ctx(), f.stepsFile(), func() error {
		last, err := f.latest()
		if err != nil {
			return err
		}
		if last.N > 0 && last.Root == root {
			n = noted{pastStep: last, before: root}
			return nil
		}
		if last.N != since && since != anyStep {
			return errStale
		}
		n = noted{pastStep: pastStep{N: last.N + 1, At: now(), Root: root}, before: last.Root}
		if last.N > 0 {
			n.changes, err = Diff(src, last.Root, root)
			switch {
			case fault.Is(err, fault.NotFound):
				n.Lost, n.before = true, chain.Hash{}
			case err != nil:
				return err
			default:
				n.credit(whose(n.changes))
			}
		}
		return f.added.append(n.pastStep)
	})
	return n, err
}

// credit notes whose each change is.
func (n *noted) credit(whose func(Change) author) {
	n.By, n.During = map[string]id.Agent{}, map[string]id.Agent{}
	for _, c := range n.changes {
		path, by := url.PathEscape(c.Path), whose(c)
		if n.By[path] = ""; by.sure {
			n.By[path] = by.agent
		} else if by.agent != "" {
			n.During[path] = by.agent
		}
	}
}

// Keep returns why an agent's restore is to keep a path that changed since a step, or nothing: all
// changes are the agent's own. What changed while a command of the agent was running counts as its
// own if commands is set.
func (f *PastFolder) Keep(a id.Agent, since int64, commands bool) (func(path string) string, error) {
	found, last, err := f.steps(since)
	if err != nil {
		return nil, err
	}
	lost := since <= 0 || since > last.N || since < last.N && (len(found) == 0 || found[0].N != since+1)
	why := map[string]string{}
	for _, s := range found {
		lost = lost || s.Lost
		for path, by := range s.By {
			switch {
			case by == a && a != "", s.During[path] == a && commands:
				why[path] += "" // it is known
			case s.During[path] == a && why[path] != Foreign:
				why[path] = Running
			default:
				why[path] = Foreign
			}
		}
	}
	return func(path string) string {
		if reason, known := why[url.PathEscape(path)]; known && !lost {
			return reason
		}
		return Foreign
	}, nil
}
