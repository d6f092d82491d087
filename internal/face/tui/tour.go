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
	{"An agent does what you ask, and asks you before it runs anything. ↑ ↓ select, Enter confirms.", "run `date`"},
	{"A fork is a child that knows everything its parent knows and works in parallel. Ctrl+↑ returns to the parent.", `/fork --name ada "list the files"`},
	{"Home shows all agents by what needs your attention: press ← here; arrows move, Esc returns.", ""},
	{"Agents send each other mail, and so can you; a waiting agent wakes up.", `/send ada "thank you"`},
	{"Nothing is ever lost: you can read, fork from or rewind to any point of a history.", "/log"},
	{"Kill the agents that you no longer need. You see the count first, and the history stays.", "/kill ada"},
	{"That's it. /key adds an API key for a real model, F1 shows every key, and you can ask “how do I …?”", ""},
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
	next := "Enter continues"
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
