package tui

import "strings"

// EditorState is a draft as it is stored, in JSON for instance.
type EditorState struct {
	Parts  []EditorPart `json:"parts,omitempty"`
	Cursor int          `json:"cursor"` // bytes of the text before it
	// Draft is what was being written when an entry of the history was looked at.
	Draft *EditorState `json:"draft,omitempty"`
}

// EditorPart is a stretch of typed text, or one paste.
type EditorPart struct {
	Text  string `json:"text,omitempty"`
	Paste string `json:"paste,omitempty"`
}

// State is what must be kept to go on after a restart. Undo and history are not
// in it.
func (e Editor) State() EditorState {
	s := stateOf(snapshot{e.atoms, e.cursor})
	if e.back > 0 {
		draft := stateOf(e.draft)
		s.Draft = &draft
	}
	return s
}

func stateOf(from snapshot) EditorState {
	s := EditorState{Cursor: sizeOf(from.atoms[:from.cursor])}
	var typed strings.Builder
	flush := func() {
		if typed.Len() > 0 {
			s.Parts = append(s.Parts, EditorPart{Text: typed.String()})
			typed.Reset()
		}
	}
	for _, a := range from.atoms {
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

// Restore returns the editor with the draft of a state, and the history that it
// has. A state that was damaged gives what can be read of it. A draft behind an
// entry of the history comes back with Down.
func (e Editor) Restore(s EditorState) Editor {
	e = Editor{history: e.history}
	if s.Draft != nil && len(e.history) > 0 {
		behind := s.Draft.snapshot()
		e.back, e.draft = 1, behind
	} else if s.Draft != nil && len(s.Draft.Parts) > 0 {
		s = *s.Draft
	}
	now := s.snapshot()
	e.atoms, e.cursor = now.atoms, now.cursor
	return e
}

func (s EditorState) snapshot() snapshot {
	var e Editor
	for _, p := range s.Parts {
		if p.Paste != "" {
			e.atoms = append(e.atoms, pasted(p.Paste))
		}
		e.atoms = append(e.atoms, cutEditor(cleanEditor(p.Text))...)
	}
	return snapshot{e.atoms, e.atomAt(s.Cursor)}
}
