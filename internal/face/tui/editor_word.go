package tui

import (
	"unicode"
	"unicode/utf8"
)

// PartKind is what the word at the cursor is the beginning of.
type PartKind uint8

// The kinds of words that can be completed.
const (
	None    PartKind = iota
	Path             // @path, anywhere
	Command          // /command at the beginning of the text; the word is the whole text
	Shell            // !command at the beginning of the text; the word is all behind the sign
)

// EditorWord is what stands at the cursor. The bytes of Text from Start to End are it,
// with its sign for Path, and can be given to Replace.
type EditorWord struct {
	Kind       PartKind
	Text       string // Path: up to the cursor, without the sign
	Start, End int
}

// wordBefore returns what is being written at the cursor.
func (e Editor) wordBefore() EditorWord {
	start := e.cursor
	for start > 0 && !e.atoms[start-1].parts() {
		start--
	}
	if start < e.cursor && e.atoms[start].text == "@" {
		end := e.cursor
		for end < len(e.atoms) && !e.atoms[end].parts() {
			end++
		}
		return EditorWord{Path, textOf(e.atoms[start+1 : e.cursor]), sizeOf(e.atoms[:start]), sizeOf(e.atoms[:end])}
	}
	if e.cursor > 0 {
		switch e.atoms[0].text {
		case "/":
			all := e.Text()
			return EditorWord{Command, all, 0, len(all)}
		case "!":
			all := e.Text()
			return EditorWord{Shell, all[1:], 1, len(all)}
		}
	}
	return EditorWord{Kind: None, Start: e.Offset(), End: e.Offset()}
}

func (a atom) parts() bool {
	r, _ := utf8.DecodeRuneInString(a.text)
	return a.paste() || unicode.IsSpace(r)
}
