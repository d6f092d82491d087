package kit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"ramet/internal/base/durable"
	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/history"
	"ramet/internal/core/trust"
)

// MostInstructions limits how much of it all an agent is told, in bytes.
const MostInstructions = 128 << 10

// InstructionText is one file of it.
type InstructionText struct {
	From string // its path: below the project, or the user's
	By   string // the file that imports it; empty: none does
	User bool   // it is the user's own
	Body string
}

// InstructionWords are texts in the order in which an agent reads them, and what people should know.
type InstructionWords struct {
	Texts  []InstructionText
	Notes  []string
	Differ []string // those of Notes about files that are not as a person accepted them; each begins with the file
	Size   int      // bytes of all bodies
}

// InstructionReader reads what a person accepted in a project; trust.Shelf is one.
type InstructionReader interface {
	Text(kind trust.Kind, path string) (t trust.Text, ok bool, err error)
	First(kind trust.Kind, paths ...string) (trust.Text, error)
}

// String returns the words as a model reads them.
func (w InstructionWords) String() string {
	var b strings.Builder
	for i, t := range w.Texts {
		if i > 0 {
			b.WriteString("\n\n")
		}
		whose := "Instructions of this project, from "
		if t.User {
			whose = "Instructions of the user, from "
		}
		b.WriteString(whose + t.From)
		if t.By != "" {
			b.WriteString(" (imported by " + t.By + ")")
		}
		b.WriteString(":\n\n" + strings.TrimSpace(t.Body))
	}
	return b.String()
}

// differs notes a file that is not as a person accepted it.
func (w *InstructionWords) differs(note string) {
	w.Notes, w.Differ = append(w.Notes, note), append(w.Differ, note)
}

func (w *InstructionWords) note(format string, args ...any) {
	w.Notes = append(w.Notes, fmt.Sprintf(format, args...))
}

// put adds a text, as far as there is room.
func (w *InstructionWords) put(t InstructionText, room int) {
	left := room - w.Size
	switch {
	case strings.TrimSpace(t.Body) == "":
		return
	case left <= 0:
		w.note("%s is left out: the instructions are longer than %d bytes", t.From, MostInstructions)
		return
	case len(t.Body) > left:
		w.note("%s is cut: the instructions are longer than %d bytes", t.From, MostInstructions)
		t.Body = strings.ToValidUTF8(t.Body[:left], "") + fmt.Sprintf("\n[… %d bytes are left out here: the instructions are longer than %d bytes …]", len(t.Body)-left, MostInstructions)
		w.Size = room
	default:
		w.Size += len(t.Body)
	}
	w.Texts = append(w.Texts, t)
}

// memo records, in an entry, which instructions joined with it.
type memo struct {
	Instructions []joined `json:"instructions"`
}

type joined struct {
	Path string `json:"path"`
	Size int    `json:"size"`
}

// KnownInstructions returns what joined a conversation so far, by the memos that it holds: bytes by path.
func KnownInstructions(memos iter.Seq[json.RawMessage]) map[string]int {
	out := map[string]int{}
	for raw := range memos {
		var m memo
		if json.Unmarshal(raw, &m) != nil {
			continue // another's
		}
		for _, j := range m.Instructions {
			out[j.Path] = j.Size
		}
	}
	return out
}

// Entry returns the words as they join a conversation; ok is false if there are none.
func (w InstructionWords) Entry() (d history.Draft, ok bool, err error) {
	if len(w.Texts) == 0 {
		return d, false, nil
	}
	var m memo
	for _, t := range w.Texts {
		m.Instructions = append(m.Instructions, joined{t.From, len(t.Body)})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return d, false, err
	}
	d, err = history.Say(history.System, w.String())
	if err != nil {
		return d, false, err
	}
	d.Parts[0].Memo = raw
	return d, true, nil
}

// UserInstructions describes where a user's own instructions are.
type UserInstructions struct {
	Dir  string // the folder of the configuration; empty: there are none
	Home string // what ~ stands for; empty: nothing
}

// File returns the user's own instructions.
func (u UserInstructions) File() string { return filepath.Join(u.Dir, "AGENTS.md") }

// instructMostFile bounds what is read of one file.
const instructMostFile = 1 << 20

// user adds the user's own instructions. No person has to accept them.
func (b *builder) user(u UserInstructions) error {
	if u.Dir == "" {
		return nil
	}
	return b.own(u, u.File(), "", 0)
}

func (b *builder) own(u UserInstructions, file, by string, depth int) error {
	if b.seen[file] {
		return nil
	}
	b.seen[file] = true
	body, err := readPlain(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || by != "" && errors.Is(err, syscall.EISDIR):
		return nil
	case err != nil && by == "":
		return fault.New(fault.InvalidConfig, "read your instructions: %w", err)
	case err != nil:
		b.words.note("%s imports %s: %v", by, file, err)
		return nil
	}
	b.words.put(InstructionText{From: file, By: by, User: true, Body: body}, b.room)
	if depth == trust.ImportDepth {
		return nil
	}
	for _, m := range text.Mentions(body) {
		next := m.Path
		if rest, short := strings.CutPrefix(next, "~/"); short {
			if u.Home == "" {
				continue
			}
			next = filepath.Join(u.Home, rest)
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(file), next)
		}
		if err := b.own(u, next, file, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readPlain reads a plain file.
func readPlain(file string) (string, error) {
	data, err := durable.ReadPlain(file, instructMostFile, func(info fs.FileInfo) error {
		if info.IsDir() {
			return syscall.EISDIR
		}
		return nil
	})
	return string(data), err
}

// InstructionsBefore returns what stands before the conversation of an agent whose folder is dir, a path below
// the project with slashes; "." is the project's own.
func InstructionsBefore(u UserInstructions, r InstructionReader, dir string) (InstructionWords, error) {
	b := builder{seen: map[string]bool{}, room: MostInstructions}
	if err := b.user(u); err != nil {
		return InstructionWords{}, err
	}
	for _, folder := range foldersBetween(".", dir) {
		if err := b.folder(r, folder); err != nil {
			return InstructionWords{}, err
		}
	}
	return b.words, nil
}

// InstructionsBelow returns what joins when files of a project are touched by an agent whose folder is dir.
// known reports whether the conversation has a file already; used is the size of those in bytes.
func InstructionsBelow(r InstructionReader, dir string, files []string, known func(path string) bool, used int) (InstructionWords, error) {
	b := builder{seen: map[string]bool{}, known: known, room: max(0, MostInstructions-used)}
	for _, f := range files {
		if !trust.LookedAt(f) {
			continue
		}
		for _, folder := range foldersBetween(dir, path.Dir(f)) {
			if folder == dir || b.seen["\x00"+folder] {
				continue // it stands before the conversation, or was looked at
			}
			b.seen["\x00"+folder] = true
			if err := b.folder(r, folder); err != nil {
				return InstructionWords{}, err
			}
		}
	}
	return b.words, nil
}

// foldersBetween returns the folders from one down to another below it, both included; if it is not
// below, none but itself where both are the same.
func foldersBetween(from, to string) []string {
	from, to = path.Clean(from), path.Clean(to)
	if from == to {
		return []string{from}
	}
	rest := to
	if from != "." {
		var below bool
		if rest, below = strings.CutPrefix(to, from+"/"); !below {
			return nil
		}
	}
	if rest == ".." || strings.HasPrefix(rest, "../") || strings.HasPrefix(rest, "/") {
		return nil
	}
	out := []string{from}
	at := from
	for part := range strings.SplitSeq(rest, "/") {
		at = path.Join(at, part)
		out = append(out, at)
	}
	return out
}

// builder collects words, each file once.
type builder struct {
	words InstructionWords
	seen  map[string]bool
	known func(string) bool // nil: nothing is
	room  int
}

// folder adds the instructions of one folder.
func (b *builder) folder(r InstructionReader, folder string) error {
	paths := make([]string, len(trust.InstructionFiles))
	for i, name := range trust.InstructionFiles {
		paths[i] = path.Join(folder, name)
	}
	t, err := r.First(trust.Instructions, paths...)
	if err != nil {
		return err
	}
	if t.Note != "" {
		b.words.differs(t.Note)
	}
	if t.Data == nil {
		return nil
	}
	return b.file(r, t, "", 0)
}

// file adds a file and what it imports.
func (b *builder) file(r InstructionReader, t trust.Text, by string, depth int) error {
	if b.seen[t.Path] {
		return nil
	}
	b.seen[t.Path] = true
	body := string(t.Data)
	if b.known == nil || !b.known(t.Path) {
		b.words.put(InstructionText{From: t.Path, By: by, Body: body}, b.room)
	}
	if depth == trust.ImportDepth {
		return nil
	}
	for _, i := range trust.Imports(t.Path, body) {
		if i.Outside {
			if b.known == nil || !b.known(t.Path) {
				b.outside(t.Path, i.Said)
			}
			continue
		}
		next, ok, err := r.Text(trust.Instructions, i.Path)
		if err != nil {
			return err
		}
		if !ok {
			continue // a word behind an @, and no file
		}
		if next.Data == nil && !strings.Contains(next.Note, "it has not been accepted") {
			continue // a folder, and the like
		}
		if next.Note != "" && !b.seen[next.Path] {
			b.words.differs(next.Note)
		}
		if next.Data != nil {
			if err := b.file(r, next, t.Path, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// outside tells of a path that leads out of the project; what only begins with an @, such as
// the name of a package, is none.
func (b *builder) outside(from, said string) {
	if strings.HasPrefix(said, "/") || strings.HasPrefix(said, "~/") || strings.HasPrefix(said, "../") {
		b.words.note("%s imports @%s, which leads out of the project: it is not used", from, said)
	}
}
