package tui

import (
	"unicode"
	"unicode/utf8"
)

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
