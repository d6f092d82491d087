package local

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"ramet/internal/launch"
	"ramet/internal/launch/sandbox"
)

// mostListed is how much of ripgrep's answer is read: more is no help any more.
const mostListed = 64 << 20

// candidates asks ripgrep, where it is installed, which files of the workspace hold the text
// that every match of a pattern has. It only spares reading the others: which files count,
// what fits and what is shown is decided here, so that answers are the same with it and
// without. ok is false where it cannot help, or might leave out a file that counts.
func (l *Local) candidates(ctx context.Context, start string, m *matcher) (found map[string]bool, ok bool) {
	program := l.ripgrep()
	if program == "" || len(m.must) == 0 || bytes.ContainsAny(m.must, "\n\r\x00") || start != "" && path.Clean(filepath.ToSlash(start)) != "." {
		return nil, false
	}
	if !l.topmost() {
		return nil, false // it would heed other rules than we do
	}
	out := &names{}
	p, err := launch.Start(ctx, launch.Program{Purpose: launch.Reader, Command: sandbox.Command{Dir: l.o.Root, Env: l.o.Env, Output: out, Args: []string{program,
		"--no-config", "--fixed-strings", "--files-with-matches", "--null", "--no-messages", "--hidden", "--text", "--encoding", "none", "--case-sensitive",
		"--no-ignore-parent", "--no-require-git", "--glob", "!.git", "--max-filesize", strconv.Itoa(largest), "--regexp", string(m.must), "./"}}})
	if err != nil {
		return nil, false
	}
	result, err := p.Wait()
	if err != nil || result.Killed || result.ExitCode != 0 || out.full {
		return nil, false // also where it found nothing: then the answer says where was looked
	}
	found = map[string]bool{}
	for name := range bytes.SplitSeq(out.Bytes(), []byte{0}) {
		if len(name) > 0 {
			found[path.Clean(filepath.ToSlash(string(name)))] = true
		}
	}
	return found, true
}

// names keeps a list, up to a size.
type names struct {
	bytes.Buffer
	full bool
}

func (n *names) Write(p []byte) (int, error) {
	if n.full = n.full || n.Len()+len(p) > mostListed; n.full {
		return len(p), nil
	}
	return n.Buffer.Write(p)
}

// ripgrep is its path; empty: it is not installed. One that lies in the workspace is not
// taken: anybody may have put it there.
func (l *Local) ripgrep() string {
	for _, pair := range l.o.Env {
		list, ok := strings.CutPrefix(pair, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			file := filepath.Join(dir, "rg")
			if real, err := filepath.EvalSymlinks(file); err != nil || !filepath.IsAbs(dir) || strings.HasPrefix(real, l.o.Root+string(filepath.Separator)) {
				continue
			}
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file
			}
		}
	}
	return ""
}

// topmost says whether no rules from above the workspace hold in it: it is a repository
// itself, or in none.
func (l *Local) topmost() bool {
	for dir := l.o.Root; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir == l.o.Root
		}
		if filepath.Dir(dir) == dir {
			return true
		}
	}
}
