package facts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"ramet/internal/docs"
	"ramet/internal/fault"
)

// parseLimit is the size of a file that is read into memory and parsed.
const parseLimit = 1 << 20

// Check holds evidence against a tree: the lines must be there and hash the same. A link on
// the way to the file is refused. The error says what differs and names the file and lines.
func Check(fsys fs.FS, e docs.Evidence) error {
	wrong := func(format string, args ...any) error {
		args = append([]any{e.File, e.From, e.To}, args...)
		return fault.New(fault.Conflict, "check %s, lines %d to %d: "+format, args...).
			WithHint("the facts were taken from another state of the repository: take them again")
	}
	if !fs.ValidPath(e.File) || e.File == "." {
		return wrong("this is no path in a repository")
	}
	if e.From < 1 || e.To < e.From {
		return wrong("these are no lines")
	}
	data, err := readPlain(fsys, e.File, parseLimit)
	if err != nil {
		return wrong("%w", err)
	}
	s := newSource(e.File, data)
	if e.To > s.count() {
		return wrong("the file has %d lines", s.count())
	}
	if got := s.evidence(e.From, e.To); got.SHA256 != e.SHA256 {
		return wrong("the lines have changed")
	}
	return nil
}

var errTooBig = errors.New("the file is larger than 1 MB")

// readPlain reads a regular file of bounded size that is not behind a link.
func readPlain(fsys fs.FS, name string, limit int64) ([]byte, error) {
	for at := 0; at < len(name); {
		next := strings.IndexByte(name[at:], '/')
		part := name
		if next >= 0 {
			part, at = name[:at+next], at+next+1
		} else {
			at = len(name)
		}
		info, err := fs.Lstat(fsys, part)
		if err != nil {
			return nil, err
		}
		if part == name && !info.Mode().IsRegular() || part != name && !info.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: part, Err: errors.New("not a plain file in plain folders")}
		}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, errTooBig
	}
	return data, nil
}

// source is a file with its lines.
type source struct {
	path   string
	data   []byte
	starts []int // offset of each line

	mu   sync.Mutex
	last docs.Evidence // the newest; mu. Many claims of a file without lines share it
}

func newSource(path string, data []byte) *source {
	s := &source{path: path, data: data}
	if len(data) > 0 {
		s.starts = append(s.starts, 0)
	}
	for at := 0; ; {
		next := bytes.IndexByte(data[at:], '\n')
		if next < 0 || at+next+1 >= len(data) {
			return s
		}
		at += next + 1
		s.starts = append(s.starts, at)
	}
}

func (s *source) count() int { return len(s.starts) }

// text is the file as a string, or nothing if it is not UTF-8 text.
func (s *source) text() string {
	if !utf8.Valid(s.data) || bytes.IndexByte(s.data, 0) >= 0 {
		return ""
	}
	return string(s.data)
}

// lineAt is the line that holds an offset, from 1.
func (s *source) lineAt(offset int) int {
	return max(1, sort.SearchInts(s.starts, offset+1))
}

// lines are the bytes of the lines with their line feeds. The range must be inside.
func (s *source) lines(from, to int) []byte {
	end := len(s.data)
	if to < len(s.starts) {
		end = s.starts[to]
	}
	return s.data[s.starts[from-1]:end]
}

// evidence is for the lines, moved into the file where they stick out.
func (s *source) evidence(from, to int) docs.Evidence {
	from = min(max(1, from), max(1, s.count()))
	to = min(max(from, to), max(1, s.count()))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.From == from && s.last.To == to {
		return s.last
	}
	var lines []byte
	if s.count() > 0 {
		lines = s.lines(from, to)
	}
	sum := sha256.Sum256(lines)
	s.last = docs.Evidence{File: s.path, From: from, To: to, SHA256: hex.EncodeToString(sum[:])}
	return s.last
}
