package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ramet/internal/base/fault"
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
