package session

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Command is one line, parsed.
type Command struct {
	Name   string            // as in the Table
	Values map[string]string // the words of its arguments by their Field, or by their Kind if they have none
}

// CommandKind is the kind of value of an argument or option.
type CommandKind string

// The kinds of arguments. Those of agents, labels, models, paths and commands can
// be completed.
const (
	Agent         CommandKind = "agent"
	Label         CommandKind = "label" // or, for rewind, a message id
	CommandModel  CommandKind = "model"
	Path          CommandKind = "path"
	Mode          CommandKind = "mode"
	CommandEffort CommandKind = "effort"
	Topic         CommandKind = "command"
	Name          CommandKind = "name"
	Role          CommandKind = "role"
	Driver        CommandKind = "driver"
	Vendor        CommandKind = "vendor"
	Rule          CommandKind = "rule"
	Setting       CommandKind = "setting"
	Value         CommandKind = "value"
	Message       CommandKind = "message"
	Number        CommandKind = "number"
	Text          CommandKind = "text"
	Nothing       CommandKind = "" // an option that is there or not
)

// CommandArgument is one argument or option in a command's usage.
type CommandArgument struct {
	Flag     string // "--name"; empty for one that goes by its place
	Kind     CommandKind
	Required bool
	Field    string // the field of the operation's input, or the name under which Command has it; empty: the Kind
	Hidden   bool   // an older name, which is accepted and not offered
}

// CommandRow is one command.
type CommandRow struct {
	Name      string
	Usage     string // "/switch AGENT"
	Summary   string // one line
	Help      string // what else there is to know; may be empty
	Arguments []CommandArgument
}

// Rows is a table of commands.
type Rows []CommandRow

// FindCommand gives the row of a command. Of operations it has little more than the name; package
// operation has the rest.
func FindCommand(name string) (CommandRow, bool) { return Rows(table).Find(name) }

// Find gives the row of a command.
func (t Rows) Find(name string) (CommandRow, bool) {
	for _, row := range t {
		if row.Name == name {
			return row, true
		}
	}
	return CommandRow{}, false
}

// CommandNames are those of all commands.
func CommandNames() []string {
	all := make([]string, len(table))
	for i, row := range table {
		all[i] = row.Name
	}
	return all
}

func (r CommandRow) places() []CommandArgument {
	var places []CommandArgument
	for _, a := range r.Arguments {
		if a.Flag == "" {
			places = append(places, a)
		}
	}
	return places
}

func (r CommandRow) flag(name string) (CommandArgument, bool) {
	for _, a := range r.Arguments {
		if a.Flag == name && name != "" {
			return a, true
		}
	}
	return CommandArgument{}, false
}

func (r CommandRow) flags() []string {
	var flags []string
	for _, a := range r.Arguments {
		if a.Flag != "" && !a.Hidden {
			flags = append(flags, a.Flag)
		}
	}
	return flags
}

// takes are the arguments as the usage has them.
func (r CommandRow) takes() string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Usage, "/"+r.Name), " ")
}

// word is one word of a line and where it stood.
type word struct {
	text       string
	start, end int  // bytes
	quoted     bool // some of it, so that it is no option
	open       rune // the quote that was not closed, or a backslash at the end
}

// nextWord reads the word that begins at or after from, and reports whether there is one.
func nextWord(line string, from int) (word, bool) {
	at := from
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += n
	}
	if at >= len(line) {
		return word{start: at, end: at}, false
	}
	w := word{start: at}
	var b strings.Builder
	var quote rune
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		raw := line[at : at+n]
		switch {
		case quote == 0 && unicode.IsSpace(r):
			w.text, w.end = b.String(), at
			return w, true
		case quote == 0 && (r == '"' || r == '\''):
			quote, w.quoted = r, true
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			rest := line[at+n:]
			if rest == "" {
				w.open = '\\'
				break
			}
			_, size := utf8.DecodeRuneInString(rest)
			if quote == '"' && rest[0] != '"' && rest[0] != '\\' {
				b.WriteString(raw) // as in a shell: only these two are escaped there
				break
			}
			w.quoted = true
			b.WriteString(rest[:size])
			at += size
		default:
			b.WriteString(raw)
		}
		at += n
	}
	if quote != 0 {
		w.open = quote
	}
	w.text, w.end = b.String(), len(line)
	return w, true
}

// QuoteWord writes a text so that it is one word, and the same one.
func QuoteWord(s string) string {
	plain := s != "" && !strings.HasPrefix(s, "-")
	for _, r := range s {
		if unicode.IsSpace(r) || strings.ContainsRune(`"'\`, r) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
