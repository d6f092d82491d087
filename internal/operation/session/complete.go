package session

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ramet/internal/model/llm"
)

// CommandCandidate is one way to go on.
type CommandCandidate struct {
	Text    string // as it is shown
	Summary string // one line beside it; may be empty
	Takes   string // of a command: its arguments
}

// CompletionSources return the candidates besides commands and options. A nil one has
// nothing.
type CompletionSources struct {
	Agents, Labels, Models, Modes func() []CommandCandidate
	Vendors, Settings             func() []CommandCandidate
	Commands                      func() []CommandCandidate // defined elsewhere; with their slashes
	Paths                         func(prefix string) []CommandCandidate

	topics []CommandCandidate // the commands
}

// Completion lists the candidates at the cursor. The bytes of the line from Start to
// End are replaced by the chosen candidate, written with Insert.
type Completion struct {
	Start, End int
	Word       string      // what is typed of it so far, without quotes
	Kind       CommandKind // of what is completed; Nothing for options
	Candidates []CommandCandidate
}

// Insert is a candidate as it must stand in the line.
func (c Completion) Insert(chosen CommandCandidate) string {
	switch c.Kind {
	case Topic:
		return chosen.Text + " "
	case Path:
		if strings.HasSuffix(chosen.Text, "/") { // a folder: one goes on typing
			return strings.TrimSuffix(QuoteWord(chosen.Text), `"`)
		}
	case Nothing:
		return chosen.Text + " "
	}
	return QuoteWord(chosen.Text) + " "
}

// Complete returns the candidates at the cursor, a place in bytes: first those that begin
// with the word there, then those that contain it. It returns an empty list if there are none.
func (t Rows) Complete(line string, cursor int, sources CompletionSources) Completion {
	cursor = min(max(cursor, 0), len(line))
	for cursor > 0 && cursor < len(line) && !utf8.RuneStart(line[cursor]) {
		cursor--
	}
	head := line[:cursor]
	first, ok := nextWord(head, 0)
	if !ok || first.end == cursor {
		c := Completion{Start: first.start, End: wordEnd(line, first.start, cursor), Kind: Topic, Word: strings.TrimPrefix(first.text, "/")}
		for _, row := range t {
			c.Candidates = append(c.Candidates, CommandCandidate{Text: "/" + row.Name, Summary: row.Summary, Takes: row.takes()})
		}
		if sources.Commands != nil {
			c.Candidates = append(c.Candidates, sources.Commands()...)
		}
		c.filter("/" + c.Word)
		return c
	}
	row, ok := t.Find(strings.TrimPrefix(first.text, "/"))
	if !ok {
		return Completion{Start: cursor, End: cursor}
	}
	return row.complete(line, first.end, cursor, t.with(sources))
}

func (r CommandRow) complete(line string, from, cursor int, sources CompletionSources) Completion {
	places, taken := r.places(), 0
	var expects *CommandArgument // the option whose value comes
	var used []string
	for {
		w, ok := nextWord(line[:cursor], from)
		if !ok || w.end == cursor { // the word at the cursor, perhaps still empty
			c := Completion{Start: w.start, End: wordEnd(line, w.start, cursor), Word: w.text}
			switch {
			case expects != nil:
				c.offer(expects.Kind, sources)
			case strings.HasPrefix(w.text, "-") && !w.quoted:
				for _, flag := range r.flags() {
					if !slices.Contains(used, flag) {
						c.Candidates = append(c.Candidates, CommandCandidate{Text: flag})
					}
				}
			case taken < len(places):
				c.offer(places[taken].Kind, sources)
			}
			c.filter(c.Word)
			return c
		}
		flag, isFlag := r.flag(w.text)
		switch {
		case expects != nil:
			expects = nil
		case isFlag && !w.quoted:
			used = append(used, flag.Flag)
			if flag.Kind != Nothing {
				expects = &flag
			}
		case taken < len(places) && places[taken].Kind == Text:
			return Completion{Start: cursor, End: cursor, Kind: Text} // the rest is prose
		default:
			taken++
		}
		from = w.end
	}
}

func (c *Completion) offer(kind CommandKind, sources CompletionSources) {
	c.Kind = kind
	list := map[CommandKind]func() []CommandCandidate{Agent: sources.Agents, Label: sources.Labels, CommandModel: sources.Models, Mode: sources.Modes, Vendor: sources.Vendors, Setting: sources.Settings}[kind]
	switch {
	case list != nil:
		c.Candidates = append(c.Candidates, list()...)
	case kind == Path && sources.Paths != nil:
		c.Candidates = append(c.Candidates, sources.Paths(c.Word)...)
	case kind == CommandEffort:
		for _, word := range llm.Efforts() {
			c.Candidates = append(c.Candidates, CommandCandidate{Text: word})
		}
	case kind == Topic:
		c.Candidates = append(c.Candidates, sources.topics...)
	}
}

// with adds the commands themselves to what can be completed.
func (t Rows) with(sources CompletionSources) CompletionSources {
	for _, row := range t {
		sources.topics = append(sources.topics, CommandCandidate{Text: row.Name, Summary: row.Summary})
	}
	return sources
}

// filter keeps what begins with the word, then what holds it; case is ignored.
func (c *Completion) filter(typed string) {
	typed = strings.ToLower(typed)
	var same, begin, hold []CommandCandidate
	for _, candidate := range c.Candidates {
		low := strings.ToLower(candidate.Text)
		switch {
		case low == typed: // what is typed whole is meant, whatever begins with it
			same = append(same, candidate)
		case strings.HasPrefix(low, typed):
			begin = append(begin, candidate)
		case strings.Contains(low, strings.TrimPrefix(typed, "/")):
			hold = append(hold, candidate)
		}
	}
	c.Candidates = slices.Concat(same, begin, hold)
}

// wordEnd returns the end of the word at the cursor.
func wordEnd(line string, start, cursor int) int {
	if w, ok := nextWord(line, start); ok && w.start <= cursor && w.open == 0 {
		return max(w.end, cursor)
	}
	return cursor
}
