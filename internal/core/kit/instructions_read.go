package kit

import (
	"path"
	"strings"

	"ramet/internal/core/trust"
)

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
// known says what the conversation has already; used is how many bytes that is.
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
