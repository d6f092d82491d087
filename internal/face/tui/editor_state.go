package tui

import "strings"

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
