package tui

import (
	"strings"

	"ramet/internal/base/text"
)

// EditorView is the editor on a screen of some width.
type EditorView struct {
	Rows     []string // none wider than the width; nothing in them drives a terminal
	Row, Col int      // the cursor, in cells; Col is less than the width
}

// editorLine is one row: the atoms from start to end. A hard one ends at a line feed or
// at the end of the text.
type editorLine struct {
	start, end int
	hard       bool
}

// View wraps the text between words and finds the cursor.
func (e Editor) View(width int) EditorView {
	width = max(width, 1)
	lines := e.lines(width)
	v := EditorView{Rows: make([]string, len(lines))}
	for i, l := range lines {
		var b strings.Builder
		for _, a := range e.atoms[l.start:l.end] {
			shown, _ := a.show(width)
			b.WriteString(shown)
		}
		v.Rows[i] = b.String()
	}
	v.Row, v.Col = e.place(lines, width)
	return v
}

func (a atom) show(width int) (string, int) {
	var shown string
	switch {
	case a.paste():
		shown = text.CutWidth(a.label, width)
	case a.text == "\t":
		shown = strings.Repeat(" ", min(4, width))
	default:
		c, w, _ := text.NextCell(a.text)
		if w > width {
			return "?", 1
		}
		return c, w
	}
	return shown, text.Width(shown)
}

func (e Editor) lines(width int) []editorLine {
	var lines []editorLine
	start, col, gap := 0, 0, 0 // gap: behind the last space
	end := func(i int) {
		lines = append(lines, editorLine{start, i, true})
		if col >= width && e.cursor == i { // the cursor needs a cell of its own
			lines = append(lines, editorLine{i, i, true})
		}
	}
	for i, a := range e.atoms {
		if a.text == "\n" && !a.paste() {
			end(i)
			start, col, gap = i+1, 0, i+1
			continue
		}
		_, w := a.show(width)
		for col+w > width && i > start {
			at := i
			if gap > start {
				at = gap
			}
			lines = append(lines, editorLine{start, at, false})
			start, gap, col = at, at, e.cells(at, i, width)
		}
		col += w
		if a.text == " " {
			gap = i + 1
		}
	}
	end(len(e.atoms))
	return lines
}

func (e Editor) cells(from, to, width int) int {
	n := 0
	for _, a := range e.atoms[from:to] {
		_, w := a.show(width)
		n += w
	}
	return n
}

func (e Editor) place(lines []editorLine, width int) (row, col int) {
	for i, l := range lines {
		if l.start <= e.cursor && e.cursor <= l.end {
			row = i
		}
	}
	// Behind a full row there may still be something without a width.
	return row, min(e.cells(lines[row].start, e.cursor, width), width-1)
}

func (e Editor) moveUp(width int) Editor {
	width = max(width, 1)
	lines := e.lines(width)
	if row, col := e.place(lines, width); row > 0 {
		return e.toRow(lines[row-1], col, width)
	}
	return e
}

// moveDown moves one row down, and from the last row to the end.
func (e Editor) moveDown(width int) Editor {
	width = max(width, 1)
	lines := e.lines(width)
	if row, col := e.place(lines, width); row < len(lines)-1 {
		return e.toRow(lines[row+1], col, width)
	}
	return e.moveBottom()
}

func (e Editor) toRow(l editorLine, col, width int) Editor {
	if !e.hasGoal {
		e.goal = col
	}
	goal := e.goal
	last := l.end
	if !l.hard && last > l.start {
		last-- // behind it is the next row
	}
	at, x := l.start, 0
	for at < last {
		_, w := e.atoms[at].show(width)
		if x+w > goal {
			break
		}
		x += w
		at++
	}
	e = e.to(at)
	e.goal, e.hasGoal = goal, true
	return e
}

type input struct {
	Editor
	wide int // when it was last drawn
}

// set puts a text there, and the cursor at so many bytes of it.
func (in *input) set(s string, at int) {
	in.Editor = Editor{}.Restore(EditorState{Parts: []EditorPart{{Text: s}}, Cursor: at})
}

func (in *input) paste(s string) { in.Editor = in.Editor.paste(s) }

func (in *input) atTop() bool { return in.View(max(in.wide, 1)).Row == 0 }

func (in *input) atBottom() bool {
	v := in.View(max(in.wide, 1))
	return v.Row == len(v.Rows)-1
}

func (in *input) key(name, text string) (ok bool) {
	e := in.Editor
	switch name {
	case "alt+enter", "shift+enter", "ctrl+j", "ctrl+enter":
		e = e.Insert("\n")
	case "backspace", "shift+backspace":
		e = e.remove(e.cursor-1, e.cursor)
	case "delete":
		e = e.remove(e.cursor, e.cursor+1)
	case "left", "ctrl+b":
		e = e.to(e.cursor - 1)
	case "right":
		e = e.to(e.cursor + 1)
	case "up":
		e = e.moveUp(max(in.wide, 1))
	case "down":
		e = e.moveDown(max(in.wide, 1))
	case "home", "ctrl+a":
		e = e.to(e.lineStart())
	case "end", "ctrl+e":
		e = e.to(e.lineEnd())
	case "alt+left", "alt+b":
		e = e.to(e.wordLeft())
	case "alt+right", "alt+f":
		e = e.to(e.wordRight())
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		e = e.remove(e.wordLeft(), e.cursor)
	case "alt+d", "ctrl+delete":
		e = e.remove(e.cursor, e.wordRight())
	case "ctrl+u":
		e = e.deleteToHome()
	case "ctrl+k":
		e = e.deleteToEnd()
	case "ctrl+z", "ctrl+_":
		e = e.undoChange()
	case "alt+z", "ctrl+y":
		e = e.redoChange()
	default:
		if text == "" {
			return false
		}
		e = e.Insert(text)
	}
	in.Editor = e
	return true
}

func (in *input) view(w, h int) (lines []string, x, y int) {
	in.wide = w
	v := in.View(w)
	from := 0
	if len(v.Rows) > h {
		from = max(0, min(v.Row-h/2, len(v.Rows)-h))
	}
	return append([]string(nil), v.Rows[from:min(len(v.Rows), from+h)]...), v.Col, v.Row - from
}
