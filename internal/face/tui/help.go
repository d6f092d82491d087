package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/operation"
	"ramet/internal/turn/loop"
)

func (m *root) openHelp(topic string) tea.Cmd {
	s := &sheet{title: "help"}
	w := max(30, m.w-2)
	if topic != "" {
		row, ok := operation.SlashRows().Find(strings.TrimPrefix(topic, "/"))
		if !ok {
			return m.tell(bad, "Unknown command "+topic)
		}
		s.title = row.Usage
		s.lines = append([]string{"", row.Summary + ".", ""}, wrap(row.Help, w)...)
		m.over = s
		return nil
	}
	s.lines = append(s.lines, "", bold.of("Commands"))
	for _, row := range operation.SlashRows() {
		s.lines = append(s.lines, describe("/"+row.Name, row.Summary, w)...)
	}
	s.lines = append(s.lines, "", bold.of("Keys"))
	s.lines = append(s.lines, describeKeys(m.keyRows(), w)...)
	m.over = s
	return nil
}

func describe(name, what string, w int) []string {
	const column = 24
	if w < 60 {
		out := []string{accent.of(name)}
		for _, l := range wrap(what, w-2) {
			out = append(out, "  "+l)
		}
		return out
	}
	var out []string
	for i, l := range wrap(what, w-column) {
		if i == 0 {
			out = append(out, accent.of(fit(name, column))+l)
		} else {
			out = append(out, strings.Repeat(" ", column)+l)
		}
	}
	return out
}

func (m *root) welcome(w int) []string {
	out := []string{accented.of("ramet") + " runs agents as processes: they fork, mail each other, and survive crashes.", ""}
	model, known := m.models[m.now.agent]
	switch {
	case !known:
		out = append(out, faint.of("Opening the workspace…"))
	case model.err != nil:
		out = append(out, bad.of("No model: "+line(model.err.Error(), 3*w)))
	case model.BuiltIn:
		out = append(out, bold.of("Model: "+model.Ref.String())+", a tiny built-in model, because no API key is set. It works offline, understands simple commands (run, read, write, search, fork, send) and answers “how do I …?”.",
			accent.of("/tour")+": a two-minute tour. "+accent.of("/key")+": add an API key for a real model.")
	default:
		out = append(out, bold.of("Model: "+model.Ref.String())+", "+model.Why+". /model changes it.")
	}
	out = append(out, m.whatElse()...)
	out = append(out, "", "Three things to try:",
		"  "+accent.of("run go version")+"            asks before it runs anything",
		"  "+accent.of(`/fork "list the files"`)+"    a child with this context; Ctrl+↑ returns",
		"  "+accent.of("Ctrl+T")+"                    the tree of agents; F1 shows all keys", "")
	var lines []string
	for _, l := range out {
		lines = append(lines, wrap(l, w)...)
	}
	return lines
}

// whatElse tells which models could be asked besides: of vendors whose keys are there, and of
// servers that answer on this machine.
func (m *root) whatElse() []string {
	var out []string
	now := m.models[m.now.agent].Ref
	for _, v := range byVendor(m.usable) {
		if v[0].Ref.Vendor == now.Vendor {
			v = slices.DeleteFunc(slices.Clone(v), func(one Model) bool { return one.Ref == now })
		}
		if len(v) == 0 || v[0].BuiltIn {
			continue
		}
		out = append(out, "Also available from "+line(v[0].Ref.Vendor, 30)+": "+namesOf(v), toUse(v[0], "(/model lists all)"))
	}
	for _, v := range byVendor(m.found) {
		out = append(out, line(v[0].Title, 40)+" is running on this machine: "+namesOf(v), toUse(v[0], "uses it for this agent"))
	}
	return out
}

// toUse is a line with the command that chooses a model: one that is never broken is copied whole.
func toUse(one Model, why string) string {
	return "  " + accent.of("/model "+line(one.Ref.String(), 60)) + "  " + why
}

// byVendor puts models of one vendor together; they stand beside each other.
func byVendor(all []Model) [][]Model {
	var out [][]Model
	for i, one := range all {
		if i == 0 || all[i-1].Ref.Vendor != one.Ref.Vendor {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], one)
	}
	return out
}

func namesOf(all []Model) string {
	const most = 3
	var names []string
	for i, one := range all {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(all)-most))
			break
		}
		names = append(names, line(one.Ref.Name, 30))
	}
	return strings.Join(names, ", ")
}

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

// tourOn continues the tour: first the line of the step, then the next step.
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

const noticeFor = 6 * time.Second

type noticeOverMsg int

func (m *root) tell(st style, said string) tea.Cmd {
	m.note = notice{text: line(said, 400), style: st, number: m.note.number + 1}
	return m.later(noticeFor, noticeOverMsg(m.note.number))
}

// lines returns the notice, to its end if that is near: the remedy is there.
func (n notice) lines(w int) []string {
	const most = 3
	out := wrap(n.text, max(1, w))
	if len(out) > most {
		out = append(out[:most-1], cut(strings.Join(out[most-1:], " "), w))
	}
	for i, l := range out {
		out[i] = n.style.of(l)
	}
	return out
}

func explain(err error) string {
	return "error[" + string(fault.CodeOf(err)) + "]: " + err.Error()
}

// notify notifies the person if the terminal is not in front. One that does not report it counts as in
// front.
func (m *root) notify(what string) tea.Cmd {
	if !m.away || m.o.Notify == nil {
		return nil
	}
	sequence := m.o.Notify("ramet", text.Line(what, 200))
	if sequence == "" {
		return nil
	}
	return m.send(sequence)
}

// notifyEnd notifies the person of a turn that was not stopped.
func (m *root) notifyEnd(e loop.Event) tea.Cmd {
	st, what := m.ended(e)
	if st == warn {
		return nil
	}
	return m.notify(what)
}

// ended describes the end of a turn: good, stopped (warn) or bad.
func (m *root) ended(e loop.Event) (style, string) {
	who := m.agents.label(e.Agent)
	switch {
	case e.Err == nil:
		return good, who + " is done: " + lastLine(e.Outcome)
	case fault.Is(e.Err, fault.Cancelled), fault.Is(e.Err, fault.Interrupted), fault.Is(e.Err, fault.DeadAgent):
		return warn, who + " was stopped"
	}
	return bad, who + " failed: " + e.Err.Error()
}

func lastLine(o *loop.Outcome) string {
	if o == nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(o.Text), "\n")
	return first
}
