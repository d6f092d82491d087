package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ramet/internal/base/text"
)

// Editor holds one draft. Its slices are never changed in place.
type Editor struct {
	atoms  []atom
	cursor int // in atoms

	goal    int // the column that Up and Down try to keep
	hasGoal bool

	undo, redo []snapshot
	typing     bool // the last change was typing: the next letter belongs to it
}

// atom is one cluster, a line feed, or a paste.
type atom struct {
	text  string
	label string // of a paste
}

func (a atom) paste() bool { return a.label != "" }

// pasted is a paste as one atom. It is kept as it came, but for what no store takes.
func pasted(s string) atom {
	s = strings.ReplaceAll(strings.ToValidUTF8(lineFeeds(s), "\uFFFD"), "\x00", "")
	label := fmt.Sprintf("[pasted %d bytes]", len(s))
	if n := strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1; n > 1 {
		label = fmt.Sprintf("[pasted %d lines]", n)
	}
	return atom{s, label}
}

type snapshot struct {
	atoms  []atom
	cursor int
}

// deepest is how many changes can be undone.
const deepest = 200

// Text is all that was written, pastes in full.
func (e Editor) Text() string { return textOf(e.atoms) }

// Empty says whether nothing is written.
func (e Editor) Empty() bool { return len(e.atoms) == 0 }

// Offset is the place of the cursor in Text, in bytes.
func (e Editor) Offset() int { return sizeOf(e.atoms[:e.cursor]) }

// Insert adds typed text before the cursor.
func (e Editor) Insert(s string) Editor {
	s = cleanEditor(s)
	if s == "" {
		return e
	}
	first, _ := utf8.DecodeRuneInString(s)
	goesOn := e.typing && first != ' ' && first != '\n'
	if !goesOn {
		e = e.remember()
	}
	e = e.splice(e.cursor, e.cursor, s)
	e.typing = true
	return e
}

// A paste of so many lines or bytes is shown as a label.
const (
	editorManyLines = 8
	manyBytes       = 1000
)

// paste adds text before the cursor; much of it stays one piece.
func (e Editor) paste(s string) Editor {
	if strings.Count(strings.TrimSuffix(lineFeeds(s), "\n"), "\n")+1 < editorManyLines && len(s) < manyBytes {
		e.typing = false
		e = e.Insert(s)
		e.typing = false
		return e
	}
	e = e.remember()
	e.atoms = slices.Insert(slices.Clone(e.atoms), e.cursor, pasted(s))
	e.cursor++
	return e
}

// Replace puts a text in the place of the bytes of Text from start to end, as a
// completion does, and the cursor behind it.
func (e Editor) Replace(start, end int, s string) Editor {
	e = e.remember()
	from := e.atomAt(start)
	return e.splice(from, max(from, e.atomAt(end)), cleanEditor(s))
}

func (e Editor) undoChange() Editor {
	e.undo, e.redo = e.swap(e.undo, e.redo, &e)
	return e
}

func (e Editor) redoChange() Editor {
	e.redo, e.undo = e.swap(e.redo, e.undo, &e)
	return e
}

// swap takes the newest of one list for what is there, which goes to the other.
func (e Editor) swap(from, to []snapshot, out *Editor) (left, more []snapshot) {
	n := len(from)
	if n == 0 {
		return from, to
	}
	out.atoms, out.cursor = from[n-1].atoms, from[n-1].cursor
	out.typing, out.hasGoal = false, false
	return from[:n-1], append(slices.Clip(to), snapshot{e.atoms, e.cursor})
}

// remember keeps what there is for Undo, before a change.
func (e Editor) remember() Editor {
	e.undo = append(slices.Clip(e.undo), snapshot{e.atoms, e.cursor})
	if len(e.undo) > deepest {
		e.undo = e.undo[len(e.undo)-deepest:]
	}
	e.redo, e.typing, e.hasGoal = nil, false, false
	return e
}

// splice puts a text in the place of some atoms. What stands beside them may join
// with it (an accent with its letter), so the whole stretch between line feeds and
// pastes is cut into clusters again.
func (e Editor) splice(from, to int, s string) Editor {
	lo, hi := from, to
	for lo > 0 && !e.atoms[lo-1].edge() {
		lo--
	}
	for hi < len(e.atoms) && !e.atoms[hi].edge() {
		hi++
	}
	before, after := textOf(e.atoms[lo:from])+s, textOf(e.atoms[to:hi])
	atoms := slices.Concat(e.atoms[:lo], cutEditor(before+after), e.atoms[hi:])
	e.atoms, e.cursor, e.hasGoal = atoms, lo, false
	for size := 0; size < len(before); e.cursor++ {
		size += len(atoms[e.cursor].text)
	}
	return e
}

func (a atom) edge() bool { return a.paste() || a.text == "\n" }

func cutEditor(s string) []atom {
	var atoms []atom
	for s != "" {
		_, _, n := text.NextCell(s)
		atoms = append(atoms, atom{text: s[:n]})
		s = s[n:]
	}
	return atoms
}

func textOf(atoms []atom) string {
	var b strings.Builder
	for _, a := range atoms {
		b.WriteString(a.text)
	}
	return b.String()
}

func sizeOf(atoms []atom) int {
	n := 0
	for _, a := range atoms {
		n += len(a.text)
	}
	return n
}

// atomAt is the first place at or after so many bytes.
func (e Editor) atomAt(offset int) int {
	i := 0
	for size := 0; i < len(e.atoms) && size < offset; i++ {
		size += len(e.atoms[i].text)
	}
	return i
}

func lineFeeds(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func cleanEditor(s string) string { return text.Safe(lineFeeds(s)) }

func (e Editor) to(cursor int) Editor {
	e.cursor = min(max(cursor, 0), len(e.atoms))
	e.typing, e.hasGoal = false, false
	return e
}

func (e Editor) moveTop() Editor { return e.to(0) }

func (e Editor) moveBottom() Editor { return e.to(len(e.atoms)) }

// deleteToHome deletes to the beginning of the line, and there the line feed.
func (e Editor) deleteToHome() Editor {
	if start := e.lineStart(); start < e.cursor {
		return e.remove(start, e.cursor)
	}
	return e.remove(e.cursor-1, e.cursor)
}

// deleteToEnd deletes to the end of the line, and there the line feed.
func (e Editor) deleteToEnd() Editor {
	if end := e.lineEnd(); end > e.cursor {
		return e.remove(e.cursor, end)
	}
	return e.remove(e.cursor, e.cursor+1)
}

func (e Editor) remove(from, to int) Editor {
	from, to = max(from, 0), min(to, len(e.atoms))
	if from >= to {
		return e
	}
	return e.remember().splice(from, to, "")
}

func (e Editor) lineStart() int {
	i := e.cursor
	for i > 0 && e.atoms[i-1].text != "\n" {
		i--
	}
	return i
}

func (e Editor) lineEnd() int {
	i := e.cursor
	for i < len(e.atoms) && e.atoms[i].text != "\n" {
		i++
	}
	return i
}

// wordLeft skips what is no word, then the word.
func (e Editor) wordLeft() int {
	i := e.cursor
	for i > 0 && !e.atoms[i-1].word() {
		if i--; e.atoms[i].paste() {
			return i
		}
	}
	for i > 0 && e.atoms[i-1].word() {
		i--
	}
	return i
}

func (e Editor) wordRight() int {
	i := e.cursor
	for i < len(e.atoms) && !e.atoms[i].word() {
		if i++; e.atoms[i-1].paste() {
			return i
		}
	}
	for i < len(e.atoms) && e.atoms[i].word() {
		i++
	}
	return i
}

func (a atom) word() bool {
	r, _ := utf8.DecodeRuneInString(a.text)
	return !a.paste() && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// EditorState is a draft as it is stored, in JSON for instance.
type EditorState struct {
	Parts  []EditorPart `json:"parts,omitempty"`
	Cursor int          `json:"cursor"` // bytes of the text before it
}

// EditorPart is a stretch of typed text, or one paste.
type EditorPart struct {
	Text  string `json:"text,omitempty"`
	Paste string `json:"paste,omitempty"`
}

// State returns what must be kept to continue after a restart. The changes that could be undone are not in it.
func (e Editor) State() EditorState {
	s := EditorState{Cursor: e.Offset()}
	var typed strings.Builder
	flush := func() {
		if typed.Len() > 0 {
			s.Parts = append(s.Parts, EditorPart{Text: typed.String()})
			typed.Reset()
		}
	}
	for _, a := range e.atoms {
		if a.paste() {
			flush()
			s.Parts = append(s.Parts, EditorPart{Paste: a.text})
			continue
		}
		typed.WriteString(a.text)
	}
	flush()
	return s
}

// Restore returns an editor with the draft of a state. A damaged state gives what can be read of it.
func (Editor) Restore(s EditorState) Editor {
	var e Editor
	for _, p := range s.Parts {
		if p.Paste != "" {
			e.atoms = append(e.atoms, pasted(p.Paste))
		}
		e.atoms = append(e.atoms, cutEditor(cleanEditor(p.Text))...)
	}
	e.cursor = e.atomAt(s.Cursor)
	return e
}
