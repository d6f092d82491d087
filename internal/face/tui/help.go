package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramet/internal/operation"
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
