package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// tour walks a newcomer through what can be done: it says what comes, and puts the line into
// the prompt; sending it is the newcomer's own deed.
type tour struct {
	on    bool
	at    int
	typed bool // the line of this step was put into the prompt
}

var tourSteps = []struct{ says, line string }{
	{"An agent does what it is told, and asks before anything runs. ↑ ↓ choose, Enter decides.", "run `date`"},
	{"A fork is a child that knows all that its parent knows. It works beside it; Ctrl+↑ comes back.", `/fork --name ada "list the files"`},
	{"Home shows everybody by what you can do about them: press ← here, arrows move, Esc comes back.", ""},
	{"Agents, and you, write letters; a waiting agent wakes up.", `/send ada "thank you"`},
	{"Nothing is ever lost: every point of a history can be read, forked from, or gone back to.", "/log"},
	{"Whoever is not needed is ended; the count is shown first, and the history stays.", "/kill ada"},
	{"That is all of it. /key takes a key for a model that thinks, F1 shows every key, and “how do I …?” is answered.", ""},
}

func (m *root) beginTour() tea.Cmd {
	m.tour = tour{on: true}
	return nil
}

// tourOn goes on: first the line of the step, then the next step.
func (m *root) tourOn() tea.Cmd {
	t := &m.tour
	if line := tourSteps[t.at].line; line != "" && !t.typed {
		t.typed = true
		m.now.input.set(line, len(line))
		m.dirty = true
		m.offer.close()
		return nil
	}
	t.at, t.typed = t.at+1, false
	t.on = t.at < len(tourSteps)
	return nil
}

func (t *tour) view(w int) []string {
	step := tourSteps[t.at]
	next := "Enter goes on"
	switch {
	case step.line != "" && !t.typed:
		next = "Enter puts " + step.line + " into the prompt"
	case t.at == len(tourSteps)-1:
		next = "Enter ends the tour"
	}
	var out []string
	for _, l := range wrap(fmt.Sprintf("tour %d of %d: %s", t.at+1, len(tourSteps), step.says), max(1, w-2)) {
		out = append(out, accent.of("▌ ")+l)
	}
	return append(out, accent.of("▌ ")+faint.of(cut(next+" · Esc ends it", w-2)))
}
