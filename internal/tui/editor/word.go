package editor

import (
	"unicode"
	"unicode/utf8"
)

// Kind is what the word at the cursor is the beginning of.
type Kind uint8

// The kinds of words that can be completed.
const (
	None    Kind = iota
	Path         // @path, anywhere
	Command      // /command at the beginning of the text; the word is the whole text
	Shell        // !command at the beginning of the text; the word is all behind the sign
)

// Word is what stands at the cursor. The bytes of Text from Start to End are it,
// with its sign for Path, and can be given to Replace.
type Word struct {
	Kind       Kind
	Text       string // Path: up to the cursor, without the sign
	Start, End int
}

// Word tells what is being written at the cursor.
func (e Editor) Word() Word {
	start := e.cursor
	for start > 0 && !e.atoms[start-1].parts() {
		start--
	}
	if start < e.cursor && e.atoms[start].text == "@" {
		end := e.cursor
		for end < len(e.atoms) && !e.atoms[end].parts() {
			end++
		}
		return Word{Path, textOf(e.atoms[start+1 : e.cursor]), sizeOf(e.atoms[:start]), sizeOf(e.atoms[:end])}
	}
	if e.cursor > 0 {
		switch e.atoms[0].text {
		case "/":
			all := e.Text()
			return Word{Command, all, 0, len(all)}
		case "!":
			all := e.Text()
			return Word{Shell, all[1:], 1, len(all)}
		}
	}
	return Word{Kind: None, Start: e.Offset(), End: e.Offset()}
}

func (a atom) parts() bool {
	r, _ := utf8.DecodeRuneInString(a.text)
	return a.paste() || unicode.IsSpace(r)
}
