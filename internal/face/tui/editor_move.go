package tui

import (
	"unicode"
	"unicode/utf8"
)

// to moves the cursor.
func (e Editor) to(cursor int) Editor {
	e.cursor = min(max(cursor, 0), len(e.atoms))
	e.typing, e.hasGoal = false, false
	return e
}

// Left moves by one cluster.
func (e Editor) Left() Editor { return e.to(e.cursor - 1) }

// Right moves by one cluster.
func (e Editor) Right() Editor { return e.to(e.cursor + 1) }

// WordLeft moves to the beginning of the word.
func (e Editor) WordLeft() Editor { return e.to(e.wordLeft()) }

// WordRight moves to the end of the word.
func (e Editor) WordRight() Editor { return e.to(e.wordRight()) }

// Home moves to the beginning of the line.
func (e Editor) Home() Editor { return e.to(e.lineStart()) }

// End moves to the end of the line.
func (e Editor) End() Editor { return e.to(e.lineEnd()) }

// Top moves to the beginning of the text.
func (e Editor) Top() Editor { return e.to(0) }

// Bottom moves to the end of the text.
func (e Editor) Bottom() Editor { return e.to(len(e.atoms)) }

// Backspace deletes the cluster before the cursor.
func (e Editor) Backspace() Editor { return e.remove(e.cursor-1, e.cursor) }

// Delete deletes the cluster after the cursor.
func (e Editor) Delete() Editor { return e.remove(e.cursor, e.cursor+1) }

// DeleteWordLeft deletes to the beginning of the word.
func (e Editor) DeleteWordLeft() Editor { return e.remove(e.wordLeft(), e.cursor) }

// DeleteWordRight deletes to the end of the word.
func (e Editor) DeleteWordRight() Editor { return e.remove(e.cursor, e.wordRight()) }

// DeleteToHome deletes to the beginning of the line, and there the line feed.
func (e Editor) DeleteToHome() Editor {
	if start := e.lineStart(); start < e.cursor {
		return e.remove(start, e.cursor)
	}
	return e.Backspace()
}

// DeleteToEnd deletes to the end of the line, and there the line feed.
func (e Editor) DeleteToEnd() Editor {
	if end := e.lineEnd(); end > e.cursor {
		return e.remove(e.cursor, end)
	}
	return e.Delete()
}

// DeleteLine deletes the line that the cursor is in.
func (e Editor) DeleteLine() Editor {
	start, end := e.lineStart(), e.lineEnd()
	if end < len(e.atoms) {
		end++
	} else if start > 0 {
		start--
	}
	return e.remove(start, end)
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
