package worktree

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// mostConfig limits how large a configuration may be that is looked at here; git looks at larger ones.
const mostConfig = 64 << 10

// acting lists what a repository's own configuration must hold, in whatever case, to name a program
// that acts (acts), or another file that might: git reads the name of a section in one piece, on
// one line, right behind its bracket.
var acting = [][]byte{[]byte("[filter"), []byte("[merge"), []byte("[include"), []byte("worktreeconfig")}

// tame reports whether the repository of a folder has its own configuration in one file, and that this
// file names no program: what git would say, without starting it. False: git must be asked. The
// repository must be one in git's eyes too, which else continues to look above the folder, and finds
// the configuration of another.
func tame(top string) bool {
	at := filepath.Join(top, ".git")
	for _, name := range []string{".", "objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(at, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	if _, err := os.Lstat(filepath.Join(at, "commondir")); !os.IsNotExist(err) {
		return false // a worktree: its configuration is in another folder
	}
	head, err := little(filepath.Join(at, "HEAD"))
	if err != nil || !headed(string(head)) {
		return false
	}
	config, err := little(filepath.Join(at, "config"))
	if err != nil {
		return false
	}
	config = bytes.ToLower(config)
	for _, word := range acting {
		if bytes.Contains(config, word) {
			return false
		}
	}
	return true
}

// headed reports whether git takes these words for the HEAD of a repository.
func headed(head string) bool {
	head = strings.TrimSuffix(head, "\n")
	return strings.HasPrefix(head, "ref: refs/") || (len(head) == 40 || len(head) == 64) && strings.Trim(head, "0123456789abcdef") == ""
}

// little reads a plain file that is not large.
func little(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostConfig {
		return nil, os.ErrInvalid
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostConfig+1))
	if err == nil && len(data) > mostConfig {
		err = os.ErrInvalid
	}
	return data, err
}
