package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
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
	r.stamp, r.index = stamp, out.Bytes()
	return r.index
}

// tracked is the list that git gives of its index: for each file "mode id stage\tname\0", in
// the order of names. It is searched as it is: a map of a hundred thousand names would take
// longer to make than everything that is asked of it.
type tracked []byte

// record returns one that begins at an offset: its fields, its name, and where the next begins.
func (t tracked) record(at int) (fields, name []byte, next int) {
	end := bytes.IndexByte(t[at:], 0)
	if end < 0 {
		end = len(t) - at
	}
	fields, name, _ = bytes.Cut(t[at:at+end], []byte{'\t'})
	return fields, name, min(at+end+1, len(t))
}

// find returns where the first record begins whose name is not before one.
func (t tracked) find(name string) int {
	low, high := 0, len(t)
	for low < high {
		middle := (low + high) / 2
		at := low + bytes.LastIndexByte(t[low:middle], 0) + 1
		_, got, next := t.record(at)
		if string(got) < name {
			low = next
		} else {
			high = at
		}
	}
	return low
}

// id is git's id of a file; false: it is not tracked, or in conflict, or another repository.
func (t tracked) id(name string) (string, bool) {
	for at := t.find(name); at < len(t); {
		fields, got, next := t.record(at)
		if string(got) != name {
			break
		}
		mode, rest, _ := bytes.Cut(fields, []byte{' '})
		oid, stage, _ := bytes.Cut(rest, []byte{' '})
		if string(stage) == "0" && string(mode) != "160000" {
			return string(oid), true
		}
		at = next
	}
	return "", false
}

// below reports whether something in a folder is tracked.
func (t tracked) below(dir string) bool {
	at := t.find(dir + "/")
	if at == len(t) {
		return false
	}
	_, got, _ := t.record(at)
	return strings.HasPrefix(string(got), dir+"/")
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
