package session

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/text"
)

// Parse understands one line.
func (t Rows) Parse(line string) (Command, error) {
	p := parser{line: line}
	w, ok := nextWord(line, 0)
	name := strings.TrimPrefix(w.text, "/")
	if !ok || name == "" {
		return Command{}, fault.New(fault.Usage, "no command at column %d", p.column(w.end)).
			WithHint("/help lists the commands")
	}
	if p.row, ok = t.Find(name); !ok {
		e := fault.New(fault.Usage, "unknown command /%s, at column %d", show(name), p.column(w.start))
		if near := text.NearestWord(strings.ToLower(name), CommandNames()); near != "" {
			row, _ := t.Find(near)
			return Command{}, e.WithHint("did you mean /%s? usage: %s", near, row.Usage)
		}
		return Command{}, e.WithHint("/help lists the commands")
	}
	p.command.Name = p.row.Name
	if err := p.arguments(w.end); err != nil {
		return Command{}, err
	}
	return p.command, nil
}

type parser struct {
	line    string
	row     CommandRow
	command Command
	seen    []string // options
}

func (p *parser) arguments(from int) error {
	places := p.row.places()
	taken := 0
	for {
		w, ok := nextWord(p.line, from)
		if !ok {
			break
		}
		isFlag := strings.HasPrefix(w.text, "--") && !w.quoted
		var place CommandArgument
		if taken < len(places) {
			place = places[taken]
		}
		switch {
		case isFlag && w.text == "--" && place.Kind == Text:
			from = w.end
			if w, ok = nextWord(p.line, from); !ok {
				continue
			}
			return p.rest(place, w.start, true)
		case isFlag:
			end, err := p.option(w)
			if err != nil {
				return err
			}
			from = end
			continue
		case place.Kind == "":
			return p.wrong(w.start, "%s is one argument too many", show(w.text))
		case place.Kind == Text && p.line[w.start] != '"' && p.line[w.start] != '\'':
			return p.rest(place, w.start, false)
		case w.open != 0:
			return p.open(w)
		}
		if err := p.set(place, w); err != nil {
			return err
		}
		taken++
		from = w.end
	}
	if taken < len(places) && places[taken].Required {
		return p.wrong(len(p.line), "the %s is missing", places[taken].Kind)
	}
	for _, a := range p.row.Arguments {
		if a.Flag != "" && a.Required && !p.has(a.Flag) {
			return p.wrong(len(p.line), "%s is missing", a.Flag)
		}
	}
	return nil
}

func (p *parser) has(flag string) bool { return slices.Contains(p.seen, flag) }

// option reads an option and its value, and returns where it ends.
func (p *parser) option(w word) (int, error) {
	name, value, inline := strings.Cut(w.text, "=")
	flag, ok := p.row.flag(name)
	switch {
	case !ok:
		if near := text.NearestWord(name, p.row.flags()); near != "" {
			return 0, p.wrong(w.start, "%s is not an option of /%s; did you mean %s?", show(name), p.row.Name, near)
		}
		return 0, p.wrong(w.start, "%s is not an option of /%s", show(name), p.row.Name)
	case p.has(name):
		return 0, p.wrong(w.start, "%s appears twice", name)
	case w.open != 0:
		return 0, p.open(w)
	case flag.Kind == Nothing && inline:
		return 0, p.wrong(w.start, "%s takes no value", name)
	}
	p.seen = append(p.seen, name)
	if flag.Kind == Nothing {
		p.keep(flag, "true")
		return w.end, nil
	}
	v := word{text: value, start: w.start, end: w.end, quoted: true}
	if !inline {
		if v, ok = nextWord(p.line, w.end); !ok || strings.HasPrefix(v.text, "--") && !v.quoted {
			return 0, p.wrong(v.start, "%s wants the %s after it", name, flag.Kind)
		}
		if v.open != 0 {
			return 0, p.open(v)
		}
	}
	return v.end, p.set(flag, v)
}

// rest takes everything from a place on as the text, as it is.
func (p *parser) rest(a CommandArgument, start int, forced bool) error {
	body := strings.TrimSpace(p.line[start:])
	for _, field := range strings.Fields(body) {
		if _, ok := p.row.flag(field); ok && !forced {
			at := start + strings.Index(p.line[start:], field)
			return p.wrong(at, "%s is in the text: put it before, or quote the text", field)
		}
	}
	return p.text(a, body, start)
}

func (p *parser) text(a CommandArgument, body string, start int) error {
	if strings.TrimSpace(body) == "" {
		return p.wrong(start, "the text is empty")
	}
	p.keep(a, body)
	return nil
}

// keep keeps the word of an argument.
func (p *parser) keep(a CommandArgument, word string) {
	if p.command.Values == nil {
		p.command.Values = map[string]string{}
	}
	p.command.Values[cmp.Or(a.Field, string(a.Kind))] = word
}

// set checks the word of an argument and keeps it.
func (p *parser) set(a CommandArgument, w word) error {
	if a.Kind != Text && w.text == "" {
		return p.wrong(w.start, "the %s is empty", a.Kind)
	}
	word := w.text
	switch a.Kind {
	case Text:
		return p.text(a, word, w.start)
	case Topic:
		word = strings.TrimPrefix(word, "/")
		if _, ok := FindCommand(word); !ok {
			if near := text.NearestWord(word, CommandNames()); near != "" {
				return p.wrong(w.start, "unknown command /%s; did you mean /%s?", show(word), near)
			}
			return p.wrong(w.start, "unknown command /%s", show(word))
		}
	case Label:
		if _, err := id.ParseMessage(word); err == nil && p.row.Name == "rewind" && !w.quoted {
			a.Field = "to"
		}
	case Message:
		if _, err := id.ParseMessage(word); err != nil {
			return p.wrong(w.start, "%s is not a message id", show(word))
		}
	case Number:
		if n, err := strconv.ParseInt(word, 10, 64); err != nil || n < 1 {
			return p.wrong(w.start, "%s is not the number of a mail message", show(word))
		}
	}
	p.keep(a, word)
	return nil
}

func (p *parser) open(w word) error {
	if w.open == '\\' {
		return p.wrong(len(p.line)-1, "nothing follows the backslash")
	}
	return p.wrong(w.start, "the quote %c is not closed", w.open)
}

func (p *parser) wrong(at int, format string, args ...any) error {
	e := fault.New(fault.Usage, format, args...)
	e.Message = "/" + p.row.Name + ", column " + strconv.Itoa(p.column(at)) + ": " + e.Message
	return e.WithHint("usage: %s", p.row.Usage)
}

// column counts characters from 1, as a person does.
func (p *parser) column(at int) int { return utf8.RuneCountInString(p.line[:at]) + 1 }

// show is a word of the user's in a sentence.
func show(s string) string { return text.Line(s, 40) }
