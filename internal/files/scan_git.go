package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"ramet/internal/files/git"
)

// repo is the repository that a folder belongs to. Its files are only read.
type repo struct {
	dir    string // what belongs to this worktree
	common string // the repository itself

	mu    sync.Mutex
	stamp string  // of the index that was read
	index tracked // what it names below the root
	sum   string  // of the index
	sumAt string
}

// findRepo finds the repository of a folder; nil: there is none.
func findRepo(root string) *repo {
	for at := root; ; at = filepath.Dir(at) {
		dot := filepath.Join(at, ".git")
		info, err := os.Lstat(dot)
		switch {
		case err == nil && info.IsDir():
			return &repo{dir: dot, common: common(dot)}
		case err == nil && info.Mode().IsRegular():
			text, err := os.ReadFile(dot)
			dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if err != nil || !ok {
				return nil
			}
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(at, dir)
			}
			return &repo{dir: dir, common: common(dir)}
		}
		if filepath.Dir(at) == at {
			return nil
		}
	}
}

func common(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		return dir
	}
	to := strings.TrimSpace(string(text))
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return filepath.Clean(to)
}

// signature changes when a file does.
func signature(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return info.ModTime().String() + " " + hex.EncodeToString([]byte{byte(info.Size()), byte(info.Size() >> 8), byte(info.Size() >> 16), byte(info.Size() >> 24)})
}

// tracked returns what git's index names below root. Where git does not answer, nothing is
// tracked, and everything is kept.
func (r *repo) tracked(ctx context.Context, root string) tracked {
	if r == nil {
		return tracked{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	stamp := signature(filepath.Join(r.dir, "index"))
	if stamp == "" {
		return tracked{}
	}
	if stamp == r.stamp {
		return r.index
	}
	out, err := git.Run(ctx, root, "ls-files", "-s", "-z")
	if err != nil {
		return tracked{}
	}
	r.stamp, r.index = stamp, parseTracked(out)
	return r.index
}

// tracked holds the names in git's index.
type tracked struct {
	ids     map[string]string // git's id of a file, by its path; empty: it is in conflict, or another repository
	folders map[string]bool   // with something tracked in them
}

// parseTracked reads what git ls-files -s -z prints: for each file "mode id stage\tname\0".
func parseTracked(list string) tracked {
	t := tracked{map[string]string{}, map[string]bool{}}
	for _, record := range git.Fields(list) {
		fields, name, _ := strings.Cut(record, "\t")
		f := strings.Fields(fields)
		if len(f) != 3 {
			continue
		}
		if t.ids[name] = ""; f[2] == "0" && f[0] != "160000" {
			t.ids[name] = f[1]
		}
		for dir := path.Dir(name); dir != "." && !t.folders[dir]; dir = path.Dir(dir) {
			t.folders[dir] = true
		}
	}
	return t
}

// id returns git's id of a file; false: it is not tracked, or in conflict, or another repository.
func (t tracked) id(name string) (string, bool) {
	oid := t.ids[name]
	return oid, oid != ""
}

// ScanPosition describes where a repository stands.
type ScanPosition struct {
	Head   string // commit; empty: none
	Branch string // empty: none is checked out
	Index  string // SHA-256 of git's index; empty: there is none
}

// Repository returns the folder of the repository, which its worktrees share; empty: there is
// none.
func (s *Scanner) Repository() string {
	if s.git == nil {
		return ""
	}
	return s.git.common
}

// Position returns where the repository of the folder stands.
func (s *Scanner) Position() ScanPosition {
	r := s.git
	if r == nil {
		return ScanPosition{}
	}
	var p ScanPosition
	text, err := os.ReadFile(filepath.Join(r.dir, "HEAD"))
	if err != nil {
		return p
	}
	p.Head = strings.TrimSpace(string(text))
	if ref, ok := strings.CutPrefix(p.Head, "ref: "); ok {
		p.Branch, p.Head = strings.TrimPrefix(ref, "refs/heads/"), r.ref(ref)
	}
	p.Index = r.indexSum()
	return p
}

func (r *repo) ref(name string) string {
	if !filepath.IsLocal(name) {
		return ""
	}
	if text, err := os.ReadFile(filepath.Join(r.common, name)); err == nil {
		return strings.TrimSpace(string(text))
	}
	packed, err := os.ReadFile(filepath.Join(r.common, "packed-refs"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(packed)) {
		if id, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ref == name {
			return id
		}
	}
	return ""
}

func (r *repo) indexSum() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	file := filepath.Join(r.dir, "index")
	stamp := signature(file)
	if stamp == "" {
		return ""
	}
	if stamp != r.sumAt {
		text, err := os.ReadFile(file)
		if err != nil {
			return ""
		}
		sum := sha256.Sum256(text)
		r.sum, r.sumAt = hex.EncodeToString(sum[:]), stamp
	}
	return r.sum
}
