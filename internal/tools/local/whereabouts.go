package local

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"

	"ramet/internal/base/text"
)

// moves finds commands that may change their folder. Only these are asked where they end.
var moves = text.Regexp(`\b(cd|pushd|popd)\b`)

// tracker asks a shell in which folder it ends: a trap prints that behind a mark, which
// cannot be guessed, on the output as the shell found it. The mark and what follows are no
// output. A shell that ends without its trap does not say.
type tracker struct {
	mark  []byte
	next  interface{ Write([]byte) (int, error) }
	held  []byte // what may be the beginning of the mark, or stands behind it
	found bool
}

// trackFolder changes a command so that it says where it ends.
func trackFolder(command string) (string, *tracker) {
	mark := "\x01" + rand.Text() + "\x01"
	return fmt.Sprintf(`exec 9>&1; trap 'printf "%s%%s" "$PWD" >&9' EXIT; %s`, mark, command), &tracker{mark: []byte(mark)}
}

// Write hands on what is output.
func (t *tracker) Write(p []byte) (int, error) {
	t.held = append(t.held, p...)
	if t.found {
		return len(p), nil
	}
	out := t.held
	if i := bytes.Index(t.held, t.mark); i >= 0 {
		t.found = true
		out, t.held = t.held[:i], t.held[i+len(t.mark):]
	} else {
		n := len(t.held)
		for k := min(n, len(t.mark)-1); k >= 0; k-- {
			if bytes.HasSuffix(t.held, t.mark[:k]) {
				out, t.held = t.held[:n-k], bytes.Clone(t.held[n-k:])
				break
			}
		}
	}
	if len(out) > 0 {
		t.next.Write(out)
	}
	return len(p), nil
}

// end hands on what was no mark after all, and says where the shell ended; empty: unknown.
func (t *tracker) end() string {
	if t.found {
		return string(t.held)
	}
	if len(t.held) > 0 {
		t.next.Write(t.held)
	}
	return ""
}

// folder returns where commands run, in the root and on the disk. Where the folder of the last
// command went away it is the root again.
func (l *Local) folder() (rel, dir string) {
	l.mu.Lock()
	rel = l.dir
	l.mu.Unlock()
	if rel == "" || rel == "." {
		return ".", l.o.Root
	}
	s, err := l.find(rel, toRead)
	if err != nil {
		return ".", l.o.Root
	}
	defer s.close()
	if s.info == nil || !s.info.IsDir() {
		return ".", l.o.Root
	}
	return s.rel, filepath.Join(l.o.Root, filepath.FromSlash(s.rel))
}

// move takes the folder in which a command ended, and says what that means for the next:
// a line for the model and a memo. Outside the root nothing stays.
func (l *Local) move(from, ended string) (said, memory string) {
	if ended == "" || !filepath.IsAbs(ended) {
		return "", ""
	}
	to := "."
	if s, err := l.find(ended, toRead); err == nil {
		if s.info != nil && s.info.IsDir() {
			to = s.rel
		}
		s.close()
	} else {
		said = fmt.Sprintf("[the next command runs in the workspace again: %s is not in it]", text.Line(ended, 200))
	}
	l.mu.Lock()
	l.dir = to
	l.mu.Unlock()
	if to == from {
		return said, ""
	}
	said = cmp.Or(said, fmt.Sprintf("[the next command runs in %s]", folderPhrase(to)))
	b, err := json.Marshal(memo{Dir: to})
	if err != nil {
		return said, ""
	}
	return said, string(b)
}

// folderPhrase returns a folder in a sentence.
func folderPhrase(rel string) string {
	if rel == "." {
		return "the workspace folder"
	}
	return showPath(rel)
}
