package local

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"ramet/internal/base/step"
	"ramet/internal/base/text"
	"ramet/internal/turn/tool"
)

const (
	longest    = 8 << 10 // bytes of an answer that stay in the conversation
	mostShelfs = 500     // files on the shelf; the oldest make room
)

// spool keeps what is written to it in a file of the shelf once that is longer than an
// answer may be. What goes wrong with the file is no fault of what is written.
type spool struct {
	l     *Local
	name  string // which tool
	first []byte
	file  *os.File
	n     int64
	full  bool // there was more than a file may have
}

// Write never fails.
func (s *spool) Write(p []byte) (int, error) {
	n := len(p)
	if s.l.o.Outputs == "" || s.full {
		return n, nil
	}
	if s.file == nil && len(s.first)+len(p) <= longest {
		s.first = append(s.first, p...)
		return n, nil
	}
	if s.file == nil && !s.open() {
		return n, nil
	}
	s.put(p)
	return n, nil
}

// open makes the file, also for little.
func (s *spool) open() bool {
	if s.l.o.Outputs == "" {
		return false
	}
	var err error
	if s.file, err = s.l.shelve(s.name); err != nil {
		s.full = true
		return false
	}
	s.put(s.first)
	s.first = nil
	return true
}

// where returns the file while it is written; empty: there is none.
func (s *spool) where() string {
	if s.file == nil {
		return ""
	}
	return s.file.Name()
}

func (s *spool) put(p []byte) {
	if room := largest - s.n; int64(len(p)) > room {
		p, s.full = p[:room], true
	}
	if n, err := s.file.Write(p); err != nil {
		s.full = true
	} else {
		s.n += int64(n)
	}
}

// close ends the file and says where it is; empty: nowhere. ramet's own secrets are taken
// out of it.
func (s *spool) close() string {
	if s.file == nil {
		return ""
	}
	name := s.file.Name()
	s.file.Close()
	if s.l.o.Clean != nil {
		raw, err := os.ReadFile(name)
		if err == nil {
			if clean := s.l.o.Clean(string(raw)); clean != string(raw) {
				err = step.WriteFile(name, []byte(clean), 0o600)
			}
		}
		if err != nil {
			step.Remove(name)
			return ""
		}
	}
	return name
}

// shelve makes a file on the shelf.
func (l *Local) shelve(name string) (*os.File, error) {
	if err := step.MkdirAll(l.o.Outputs, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(l.o.Outputs)
	if err != nil {
		return nil, err
	}
	removeOldFiles(dir)
	return os.CreateTemp(dir, name+"-*.txt")
}

// removeOldFiles makes room where there are too many files.
func removeOldFiles(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < mostShelfs {
		return
	}
	age := func(e fs.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return int(age(a)/1e6 - age(b)/1e6) })
	for _, e := range entries[:len(entries)-mostShelfs+1] {
		step.Remove(filepath.Join(dir, e.Name()))
	}
}

// shelved returns a tool whose long answers lie on the shelf.
func (l *Local) shelved(name string, run func(context.Context, tool.Call) (tool.Answer, error)) func(context.Context, tool.Call) (tool.Answer, error) {
	return func(ctx context.Context, c tool.Call) (tool.Answer, error) {
		a, err := run(ctx, c)
		if err != nil || len(a.Text) <= longest || l.o.Outputs == "" {
			return a, err
		}
		s, out := &spool{l: l, name: name}, newEnds(3*longest/4, longest/4)
		s.Write([]byte(a.Text))
		out.Write([]byte(a.Text))
		if out.where = s.close(); out.where != "" {
			a.Text = out.String()
		}
		return a, nil
	}
}

// shelf returns the tools for the files on the shelf, if a path leads there.
func (l *Local) shelf(path string) (*Local, bool) {
	if l.o.Outputs == "" || !filepath.IsAbs(path) {
		return nil, false
	}
	dir, err := filepath.EvalSymlinks(l.o.Outputs)
	if err != nil || !strings.HasPrefix(filepath.Clean(path), dir+string(filepath.Separator)) {
		return nil, false
	}
	made, err := New(Options{Root: dir})
	return made, err == nil
}

// ends keeps the beginning and the end of what is written to it, and counts the rest.
type ends struct {
	text.EndsBuffer
	where string // a file that has all of it; empty: none
}

func newEnds(head, tail int) *ends { return &ends{EndsBuffer: text.EndsBuffer{Head: head, Tail: tail}} }

// String returns what was kept, fit to be shown, with a line in between that says how
// much is missing.
func (e *ends) String() string {
	first, last, missing := e.Kept()
	if missing == 0 {
		return plainOutput(string(first) + string(last))
	}
	missing += len(first)
	first = text.WholeRunes(first)
	missing -= len(first)
	for n := 0; n < utf8.UTFMax-1 && len(last) > 0 && !utf8.RuneStart(last[0]); n++ {
		last = last[1:]
		missing++
	}
	note := ""
	if e.where != "" {
		note = "; all of it is in " + e.where + ", for read and grep"
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out here%s …]\n%s", strings.TrimSuffix(plainOutput(string(first)), "\n"), missing, note, plainOutput(string(last)))
}

// escapes are the sequences by which a program moves the cursor, changes colours,
// sets titles and the like. None goes over the end of a line.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-OQ-WYZ\\` + "`" + `-~])`)
})

// plainOutput returns output without escape codes. Of a line that was written over, as
// progress bars do, the last version stays.
func plainOutput(s string) string {
	if strings.IndexByte(s, '\x1b') >= 0 {
		s = escapes().ReplaceAllString(s, "")
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		var b strings.Builder
		for line := range strings.Lines(s) {
			body, ended := strings.CutSuffix(line, "\n")
			body = strings.TrimRight(body, "\r")
			b.WriteString(body[strings.LastIndexByte(body, '\r')+1:])
			if ended {
				b.WriteByte('\n')
			}
		}
		s = b.String()
	}
	return text.Safe(s)
}
