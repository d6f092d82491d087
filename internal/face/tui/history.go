package tui

import "slices"

// most is how many entries of history are kept.
const most = 500

// WithHistory gives the editor what was sent before, oldest first.
func (e Editor) WithHistory(sent []string) Editor {
	e.history, e.back = nil, 0
	for _, s := range sent[max(0, len(sent)-most):] {
		e.history = append(e.history, Editor{}.paste(s).atoms)
	}
	return e
}

// Submit is the text to be sent, and the empty editor that remembers it. What was
// undone or could be is gone.
func (e Editor) Submit() (string, Editor) {
	sent, history := e.Text(), e.history
	if sent != "" && (len(history) == 0 || textOf(history[len(history)-1]) != sent) {
		history = append(slices.Clip(history), e.atoms)
		history = history[max(0, len(history)-most):]
	}
	return sent, Editor{history: history}
}

// recall shows the entry so many back; 0 is the draft, which is kept meanwhile.
func (e Editor) recall(back int) Editor {
	if back < 0 || back > len(e.history) || back == e.back {
		return e
	}
	now := snapshot{e.atoms, e.cursor}
	draft := e.draft
	if e.back == 0 {
		draft = now
	}
	e = e.remember()
	e.back, e.draft = back, draft
	if back == 0 {
		e.atoms, e.cursor, e.draft = draft.atoms, draft.cursor, snapshot{}
		return e
	}
	e.atoms = e.history[len(e.history)-back]
	e.cursor = len(e.atoms)
	return e
}
