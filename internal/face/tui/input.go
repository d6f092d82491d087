package tui

type input struct {
	Editor
	wide int // when it was last drawn
}

func (in *input) text() string { return in.Text() }

func (in *input) cursor() int { return in.Offset() }

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
