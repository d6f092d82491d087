package foreign

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
)

// The programs whose conversations are read.
const (
	Claude   = "claude"
	Codex    = "codex"
	Opencode = "opencode"
	Pi       = "pi"
)

// Programs lists them.
func Programs() []string { return []string{Claude, Codex, Opencode, Pi} }

// newForm makes the reader of a program, of one version; some remember what lines before told.
func newForm(program string, reader int) form {
	switch program {
	case Claude:
		return claude{reader}
	case Codex:
		return &codex{reader: reader}
	case Pi:
		return &pi{reader: reader}
	}
	return opencode{reader}
}

// Found is a conversation that lies somewhere.
type Found struct {
	Program string
	Path    string
	Session string // in a database; empty: the file is one
	Reader  int    // the version that reads it; 0: the newest

	unread error // why nobody can look there; then it is a place, and no conversation
}

// sessionsFolder returns the folder in which a program keeps its sessions: below the one that a variable names, or
// below the person's home.
func sessionsFolder(program string, env func(string) string) string {
	at := map[string]struct{ variable, usual, below string }{
		Claude:   {"CLAUDE_CONFIG_DIR", ".claude", "projects"},
		Codex:    {"CODEX_HOME", ".codex", "sessions"},
		Pi:       {"PI_CODING_AGENT_DIR", ".pi/agent", "sessions"},
		Opencode: {"XDG_DATA_HOME", ".local/share", "opencode"},
	}[program]
	return filepath.Join(cmp.Or(env(at.variable), filepath.Join(env("HOME"), at.usual)), at.below)
}

// Find lists the conversations of a program below a person's home, oldest file first. env
// is the environment. What is not there has none; a place that cannot be looked at is listed too,
// and whoever opens it learns why: it keeps no other back.
func Find(ctx context.Context, program string, env func(string) string) ([]Found, error) {
	dir := sessionsFolder(program, env)
	switch program {
	case Claude, Pi:
		return files(program, dir, ""), nil
	case Codex:
		return files(program, dir, "rollout-"), nil
	case Opencode:
		path := filepath.Join(dir, "opencode.db")
		if _, err := os.Stat(path); err != nil {
			return nil, nil
		}
		found, err := rows(ctx, path)
		if err != nil && ctx.Err() == nil {
			return []Found{{Program: program, Path: path, unread: err}}, nil
		}
		return found, err
	}
	return nil, fault.New(fault.Usage, "ramet can't read the conversations of %.40q", program).
		WithHint("known: %s", strings.Join(Programs(), ", "))
}

// files lists the lines files below a folder.
func files(program, dir, prefix string) []Found {
	var out []Found
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			out = append(out, Found{Program: program, Path: path, unread: fault.New(fault.StorageIO, "look for conversations: %w", err)})
		case e.Type().IsRegular() && strings.HasSuffix(path, ".jsonl") && strings.HasPrefix(e.Name(), prefix):
			out = append(out, Found{Program: program, Path: path})
		}
		return nil
	})
	// Those of sub-agents come behind the ones that they are a part of.
	keys := make(map[string]string, len(out))
	for _, f := range out {
		keys[f.Path] = order(f.Path)
	}
	slices.SortStableFunc(out, func(a, b Found) int { return strings.Compare(keys[a.Path], keys[b.Path]) })
	return out
}

func order(path string) string {
	if strings.HasPrefix(filepath.Base(path), "agent-") {
		return fmt.Sprintf("%03d", max(besideClaude(path).Depth, 1)) + path
	}
	return "000" + path
}

// In finds out which conversations a file holds.
func In(ctx context.Context, path string) ([]Found, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Usage, "%s is not a file", path).WithHint("name a file of a conversation")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read %s: %w", path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	if head, _ := in.Peek(len(magic)); string(head) == magic {
		return rows(ctx, path)
	}
	program, err := whose(in)
	if err != nil {
		return nil, fault.New(fault.StorageIO, "read %s: %w", path, err)
	}
	if program != "" {
		return []Found{{Program: program, Path: path}}, nil
	}
	return nil, fault.New(fault.Usage, "%s is not a conversation that is known here", path).
		WithHint("known are those of %s", strings.Join(Programs(), ", "))
}

// first is the beginning of a file.
func first(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read %s: %w", path, err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fault.New(fault.StorageIO, "read %s: %w", path, err)
	}
	return head, nil
}

// magic is what a database of SQLite begins with.
const magic = "SQLite format 3\x00"

// beginning is how many bytes are looked at to tell who wrote a file, and the last line of them
// to its end: the first may hold an image.
const beginning = 256 << 10

// whose says which program wrote some lines; empty: nobody can tell by the first of them.
func whose(in *bufio.Reader) (string, error) {
	var long []byte
	for seen := int64(0); seen < beginning; {
		line, size, err := readLine(in, &long)
		seen += size
		if program := writer(line); program != "" {
			return program, nil
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// writer says which program wrote a line; empty: nobody can tell.
func writer(line []byte) string {
	var l struct {
		Type       string `json:"type"`
		Session    string `json:"sessionId"`
		UUID       string `json:"uuid"`
		Leaf       string `json:"leafUuid"`
		MessageID  string `json:"messageId"`
		Cwd        string `json:"cwd"`
		ID         string `json:"id"`
		RecordType string `json:"record_type"`
		Payload    struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"payload"`
	}
	if decode(bytes.TrimSpace(line), &l) != nil {
		return ""
	}
	switch {
	case l.Type == "session" && l.ID != "":
		return Pi
	case l.Session != "" || l.UUID != "" || l.Leaf != "" || l.MessageID != "" && l.Type == "file-history-snapshot":
		return Claude
	case l.Type == "session_meta" || l.Type == "response_item" || l.Type == "event_msg" || l.Payload.Type != "" || l.RecordType != "":
		return Codex
	case l.Type == "" && l.ID != "": // versions without covers
		return Codex
	}
	return ""
}

// open opens the lines of a conversation.
func (f Found) open(ctx context.Context) (*os.File, error) {
	if f.unread != nil {
		return nil, f.unread
	}
	if f.Program == Opencode {
		return written(ctx, f)
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read %s: %w", f.Path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Usage, "%s is not a file", f.Path)
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, fault.New(fault.NotFound, "read %s: %w", f.Path, err)
	}
	return file, nil
}

// glances is how many lines are read to tell what a conversation is about.
const glances = 200

// Peek reads the beginning of a conversation.
func Peek(ctx context.Context, f Found) (Session, error) {
	s := Session{Program: f.Program, Path: f.Path, ID: f.Session}
	file, err := f.open(ctx)
	if err != nil {
		return s, err
	}
	defer file.Close()
	in, form := bufio.NewReaderSize(file, 64<<10), newForm(f.Program, Importer)
	var long []byte
	for range glances {
		line, _, err := readLine(in, &long)
		if err != nil {
			break
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			form.index(line, &s)
		}
	}
	return s, nil
}

// role is the part of a line in a conversation.
type role uint8

const (
	silent role = iota // it says nothing to the conversation
	user               // the person, or the program in the person's place
	answer             // the model; lines of one group are one message
	result             // of calls of the answer before it
	shape              // it changes what was said: compact, rewind
	raw                // unknown: kept as it came
	spent              // what the answer before it used
)

// record is a line as the index keeps it: there may be millions.
type record struct {
	offset int64
	up     uint64 // hash of the name of the line before it; 0: none
	size   int32
	group  uint32
	role   role
	side   bool // of a sub-agent in the same source
	named  bool // it says behind which line it stands
	top    bool // it follows no other, as it says itself
	lost   bool // the line that it names is not there, or stands behind it
	unit   int32
	prev   int32 // the record that stands before it; -1: none
}

// at returns its place in the file.
func (r record) at() history.Bytes { return history.Bytes{Offset: r.offset, Size: int64(r.size)} }

func hashed(name string) uint64 {
	if name == "" {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return max(h.Sum64(), 1)
}

// take puts a line into the index, or counts why not.
func (s *Source) take(line []byte, size int64) {
	s.Lines++
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		s.Skipped["empty"]++
		return
	case size > maxLine:
		s.Skipped["too long"]++
		return
	}
	r, n := s.form.index(text, &s.Session)
	if r.role == broken {
		s.Skipped["no JSON of the program"]++
		return
	}
	r.offset, r.size, r.prev, r.unit = s.Bytes, int32(size), -1, -1
	r.up, r.group = hashed(n.up), uint32(hashed(n.group))
	if n.id != "" {
		if _, twice := s.ids[hashed(n.id)]; twice {
			s.Skipped["the same id twice"]++
			return
		}
		s.ids[hashed(n.id)] = int32(len(s.records))
	}
	switch {
	case r.role == silent:
		s.Skipped[cmp.Or(n.why, "says nothing")]++
	case r.role == raw && n.kind != "":
		s.unknown(n.kind)
	}
	s.records = append(s.records, r)
}

// mostKinds limits the unknown types that are counted each by its name.
const mostKinds = 50

// unknown counts a line of an unknown type.
func (s *Source) unknown(kind string) {
	if len(kind) > 80 {
		kind = kind[:80]
	}
	kind = plain(kind)
	if _, there := s.Unknown[kind]; !there && len(s.Unknown) >= mostKinds {
		kind = "others"
	}
	s.Unknown[kind]++
}

// broken is the role of what cannot be read.
const broken role = 255

// Taken returns the number of lines that are in entries.
func (s *Source) Taken() int64 {
	out := s.Lines
	for _, n := range s.Skipped {
		out -= n
	}
	return out
}

// read makes an entry of some lines, which are of one message.
func (s *Source) read(list []history.Bytes) (Said, error) {
	var out Said
	for i, at := range list {
		line := make([]byte, at.Size)
		if _, err := s.file.ReadAt(line, at.Offset); err != nil {
			return out, unreadable(s.Path, at, err)
		}
		line = bytes.TrimSpace(line)
		one, err := s.form.read(line)
		if err != nil {
			one = Said{Kind: history.Note, Parts: words(string(line))}
		}
		if i == 0 {
			out = one
			continue
		}
		out.Parts = append(out.Parts, one.Parts...)
		if one.Used != nil { // each line tells of the whole answer
			out.Used = one.Used
		}
	}
	out.Parts = sound(out.Parts)
	if len(out.Parts) == 0 && out.Kind != history.Rewind && out.Kind != history.Usage {
		out.Parts = words("(nothing)")
	}
	return out, nil
}
