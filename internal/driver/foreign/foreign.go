// Package foreign reads and writes the conversations that other programs keep (Claude Code, Codex,
// opencode and pi), and exports a conversation as one HTML file.
//
// A source is a sequence of lines of JSON: the file itself or, for a database, its rows. It is read
// twice and never held in memory: once for an index of about 50 bytes a line, which holds the kind
// and the parent of each line, and once line by line.
//
//   - Nothing is written to the source.
//   - Every line either becomes part of an entry, with its place in the source, or is skipped for a
//     reason that is counted. Unknown content is kept unchanged. An incomplete last line is left
//     for the next read.
//   - The same bytes give the same entries, so that anyone with the source can compare.
//   - What was signed or encrypted for a vendor is kept with the protocol that reads it, and is sent
//     to no other.
//
// # Transcript files
//
//   - The file makes no network request, and nothing in a conversation can become a script or a
//     request: its content policy permits one script and one style by their hashes, and embedded
//     images.
//   - The script shows the data that it has verified. A changed byte in the data is detected by the
//     file itself; a changed script does not run, and the file says that nothing was verified.
//   - Links are verified as `ramet verify` does (internal/base/chain), up to the head of each agent.
//     A transcript that was rewritten as a whole is detected only by comparing the heads.
//   - What is left out or redacted keeps its commitment: its place is proved, its words are not shown.
package foreign

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"ramet/internal/base/fault"
	"ramet/internal/core/history"
)

// maxLine is the longest line that is read; a longer one is skipped.
const maxLine = 64 << 20

// Session is what is known of a conversation before it is read.
type Session struct {
	Program string
	ID      string
	Path    string // of its file
	Cwd     string
	Title   string // that it was given
	Version string // of the program
	Model   string // vendor/name that it spoke with last
	Started time.Time
	Of      string // the session that it is a part of: a sub-agent; empty: none
	Call    string // the call in that session that it worked for, where the program names it
	Base    Base   // the session whose beginning is its own; zero: none
	Forked  string // the session that it is a copy of, as far as that went then; empty: none
	Newer   string // in words, that its version is one that nobody here knows; empty: it is known

	begins string // what the person said first
}

// Called is its title, else how it begins.
func (s Session) Called() string {
	if s.Title != "" {
		return s.Title
	}
	return s.begins
}

// Begins is what the person said first.
func (s Session) Begins() string { return s.begins }

// Base is a stretch of another session that one begins with.
type Base struct {
	Session string
	Bytes   int64
}

// form is how a program writes.
type form interface {
	// index reads a line: what it is, and what it tells of the session.
	index(line []byte, s *Session) (record, names)
	// read makes an entry of a line that is not silent.
	read(line []byte) (Said, error)
}

// names are how lines name themselves and each other; empty: by their order. A line that is
// kept as it came has a kind, one that says nothing may have a reason.
type names struct{ id, up, group, kind, why string }

// Said is what a line says.
type Said struct {
	Kind  history.Kind
	Parts []history.Part
	Time  string
	// Keep is, of a compact, the line with which what was kept begins; empty: nothing was.
	Keep string
	// Turns is how many turns a rewind takes back.
	Turns int
	// Used is what the answer used, as the program wrote it down; its cost is 0 where it did not.
	Used *history.Used
}

// Source is an open conversation.
type Source struct {
	Session
	Lines   int64
	Bytes   int64  // up to the end of the last whole line
	SHA256  string // of these bytes
	Reader  int    // version of the reader
	Skipped map[string]int64
	Unknown map[string]int64 // lines that were kept as they came, by their type

	file    *os.File
	form    form
	records []record
	units   []unit
	roots   []int32
	loose   []int32 // kept as they came, before any message
	ids     map[uint64]int32
}

// Close lets go of the file.
func (s *Source) Close() error { return s.file.Close() }

// Open indexes a conversation. most bounds how many bytes count, as an earlier import had
// them; 0: all.
func Open(ctx context.Context, found Found, most int64) (*Source, error) {
	reader := cmp.Or(found.Reader, Importer)
	if err := checkReader(reader); err != nil {
		return nil, err
	}
	file, err := found.open(ctx)
	if err != nil {
		return nil, err
	}
	s := &Source{Session: Session{Program: found.Program, Path: found.Path, ID: found.Session}, file: file, form: newForm(found.Program, reader), Reader: reader,
		Skipped: map[string]int64{}, Unknown: map[string]int64{}, ids: map[uint64]int32{}}
	if err := s.scan(ctx, most); err != nil {
		file.Close()
		return nil, err
	}
	if found.Program == Claude && s.Of != "" {
		s.Call = besideClaude(found.Path).Call
	}
	s.Newer = cmp.Or(s.Newer, newer(s.Program, s.Version))
	s.grow()
	if found.Program != Pi { // whose summaries name lines
		s.ids = nil
	}
	return s, nil
}

// scan reads the source once.
func (s *Source) scan(ctx context.Context, most int64) error {
	hash := sha256.New()
	var in io.Reader = s.file
	if most > 0 {
		in = io.LimitReader(s.file, most)
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	var long []byte
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return fault.New(fault.Cancelled, "read %s: %w", s.Path, context.Cause(ctx))
		}
		line, size, err := readLine(lines, &long)
		if errors.Is(err, io.EOF) {
			if size > 0 {
				s.Lines++
				s.Skipped["not ended"]++
			}
			break
		}
		if err != nil {
			return fault.New(fault.StorageIO, "read %s: %w", s.Path, err)
		}
		if err := s.sum(hash, line, size); err != nil {
			return err
		}
		s.take(line, size)
		s.Bytes += size
	}
	s.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// sum adds a line to a hash. One that is too long was not held: it is read once more.
func (s *Source) sum(hash io.Writer, line []byte, size int64) error {
	if size == int64(len(line)) {
		hash.Write(line)
		return nil
	}
	if _, err := io.Copy(hash, io.NewSectionReader(s.file, s.Bytes, size)); err != nil {
		return fault.New(fault.StorageIO, "read %s: %w", s.Path, err)
	}
	return nil
}

// readLine reads a line with its end, and says how long it is; of one that is longer than maxLine
// it gives the beginning only. io.EOF: it has no end.
func readLine(in *bufio.Reader, long *[]byte) (line []byte, size int64, err error) {
	*long = (*long)[:0]
	for {
		piece, err := in.ReadSlice('\n')
		size += int64(len(piece))
		if err == nil && len(*long) == 0 {
			return piece, size, nil
		}
		if len(*long) <= maxLine {
			*long = append(*long, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return *long, size, err
		}
	}
}

// Prefix is the SHA-256 of the first bytes of a source, in hex; false: it is shorter.
func (s *Source) Prefix(n int64) (string, bool, error) {
	if n > s.Bytes {
		return "", false, nil
	}
	if n == s.Bytes {
		return s.SHA256, true, nil
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(s.file, 0, n)); err != nil {
		return "", false, fault.New(fault.StorageIO, "read %s: %w", s.Path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), true, nil
}

// Read makes the entry of some lines.
func (s *Source) Read(list []history.Bytes) (Said, error) {
	for _, at := range list {
		if at.Offset+at.Size > s.Bytes || at.Size > maxLine {
			return Said{}, unreadable(s.Path, at, io.ErrUnexpectedEOF)
		}
	}
	return s.read(list)
}

// Stretches are the lines that are in entries, in their order, each with its number in the
// index.
func (s *Source) Stretches() iter.Seq2[int, history.Bytes] {
	return func(yield func(int, history.Bytes) bool) {
		for i, r := range s.records {
			if r.role != silent && !yield(i, r.at()) {
				return
			}
		}
	}
}

// Records is how many lines are in the index.
func (s *Source) Records() int { return len(s.records) }

// Index is the number of the line that begins at an offset; false: none does.
func (s *Source) Index(offset int64) (int, bool) {
	return slices.BinarySearchFunc(s.records, offset, func(r record, at int64) int { return cmp.Compare(r.offset, at) })
}

// Importer is the version of these readers: it grows when the same bytes give other entries
// than before. Those that were made before are made anew by the reader that made them, so
// that an import is proved, and continues, as it was begun.
//
//	1  the first
//	2  Codex: what it writes of the world and of its own counting says nothing
//	3  Codex: what was used is an entry
//	4  Codex: what a fork repeats of its original's usage says nothing, and unknown events
//	   are kept, as blocks of messages are everywhere; Claude Code: what it writes of its
//	   requests says nothing
const Importer = 4

// checkReader refuses a version that is not here.
func checkReader(version int) error {
	if version < 1 || version > Importer {
		return fault.New(fault.StorageNewer, "it was imported by version %d of the reader; here are versions 1 to %d", version, Importer).
			WithHint("use the ramet that imported it, or a newer one")
	}
	return nil
}

// known are the newest versions of programs whose sessions were read, as far as a form could
// change in them; what they write themselves has no version. Of pi it has one.
var known = map[string]string{Claude: "v2.1", Codex: "v0.166", Opencode: "v1.18"}

// newer describes a session's version that is newer than the known ones; empty if it is known, or
// has no version.
func newer(program, version string) string {
	number, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(version), "v"), " ")
	if have := semver.MajorMinor("v" + number); have == "" || known[program] == "" || semver.Compare(have, known[program]) <= 0 {
		return ""
	}
	return fmt.Sprintf("%s %.40s is newer than %s, the newest that", program, plain(version), known[program][1:])
}
