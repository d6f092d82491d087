package scan

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"ramet/internal/git"
)

// repo is the repository that a folder belongs to. Its files are only read.
type repo struct {
	dir    string // what belongs to this worktree
	common string // the repository itself

	mu    sync.Mutex
	stamp string            // of the index that was read
	index map[string]string // path below the root: id; of folders, with a slash: nothing
	sum   string            // of the index
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

// tracked are the files below root that git's index names, with their ids, and the folders
// on the way to them. Where git does not answer, nothing is tracked, and everything is kept.
func (r *repo) tracked(ctx context.Context, root string) map[string]string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	stamp := signature(filepath.Join(r.dir, "index"))
	if stamp == "" {
		return nil
	}
	if stamp == r.stamp {
		return r.index
	}
	var out bytes.Buffer
	if _, err := (git.Command{Dir: root, Out: &out}).Run(ctx, "ls-files", "-s", "-z"); err != nil {
		return nil
	}
	all := map[string]string{}
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, 0); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	for lines.Scan() {
		head, name, ok := strings.Cut(lines.Text(), "\t")
		fields := strings.Fields(head) // mode, id, stage
		if !ok || len(fields) != 3 || fields[2] != "0" || fields[0] == "160000" {
			continue
		}
		all[name] = fields[1]
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, there := all[dir+"/"]; there {
				break
			}
			all[dir+"/"] = ""
		}
	}
	r.stamp, r.index = stamp, all
	return all
}

// Position is where a repository stands.
type Position struct {
	Head   string // commit; empty: none
	Branch string // empty: none is checked out
	Index  string // SHA-256 of git's index; empty: there is none
}

// Repository is the folder of the repository, which its worktrees share; empty: there is
// none.
func (s *Scanner) Repository() string {
	if s.git == nil {
		return ""
	}
	return s.git.common
}

// Position tells where the repository of the folder stands.
func (s *Scanner) Position() Position {
	r := s.git
	if r == nil {
		return Position{}
	}
	var p Position
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
