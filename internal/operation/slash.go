package operation

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	"ramet/internal/base/id"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
)

// SlashRows returns the terminal's table of commands, in which operations are derived.
func SlashRows() session.Rows { return slashRows() }

var slashRows = sync.OnceValue(func() session.Rows {
	rows := session.CommandTable()
	for i, row := range rows {
		if o := SlashNamed(row.Name); o != nil {
			rows[i] = slashRow(o, row)
		}
	}
	return rows
})

// SlashNamed returns the operation of a slash command; nil: it has none.
func SlashNamed(name string) Operation {
	for _, o := range All() {
		if d := o.Describe(); cmp.Or(d.Slash, d.Name) == name && d.Faces&Slash != 0 {
			return o
		}
	}
	return nil
}

// ChangesCurrent reports whether an operation changes the agent on the screen.
func ChangesCurrent(o Operation) bool {
	return o.Describe().Effect != Reads && slices.ContainsFunc(o.Params(), func(p Param) bool { return p.Current })
}

// slashRow fills in the usage and arguments of an operation, and its texts where row has none.
func slashRow(o Operation, row session.CommandRow) session.CommandRow {
	d := o.Describe()
	if row.Summary == "" {
		row.Summary = d.Summary
	}
	if row.Help == "" {
		row.Help = Expand(o, Slash, strings.ReplaceAll(d.Help, "\n", " "))
	}
	usage, places := "/"+row.Name, ""
	for _, p := range Offered(o, Slash) {
		a := session.CommandArgument{Kind: slashKind(&p), Required: p.Required(Slash), Field: p.Name}
		word := slashWord(&p)
		if !p.IsPositional(Slash) {
			a.Flag = "--" + p.Flag()
			word = strings.TrimSpace(a.Flag + " " + word)
		}
		if !a.Required {
			word = "[" + word + "]"
		}
		row.Arguments = append(row.Arguments, a)
		if a.Flag == "" {
			places += " " + word
			continue
		}
		usage += " " + word
		for _, alias := range p.Aliases {
			row.Arguments = append(row.Arguments, session.CommandArgument{Flag: "--" + alias, Kind: a.Kind, Field: p.Name, Hidden: true})
		}
	}
	row.Usage = usage + places
	return row
}

// slashKind tells by a field's type how it is parsed and completed.
func slashKind(p *Param) session.CommandKind {
	switch p.Type {
	case reflect.TypeFor[AgentRef]():
		return session.Agent
	case reflect.TypeFor[Text]():
		return session.Text
	case reflect.TypeFor[Model]():
		return session.CommandModel
	case reflect.TypeFor[Driver]():
		return session.Driver
	case reflect.TypeFor[Role]():
		return session.Role
	case reflect.TypeFor[llm.Effort]():
		return session.CommandEffort
	case reflect.TypeFor[id.Message]():
		return session.Message
	case reflect.TypeFor[LetterNumber](), reflect.TypeFor[[]LetterNumber]():
		return session.Number
	}
	if p.Type.Kind() == reflect.Bool {
		return session.Nothing
	}
	return session.CommandKind(p.Name)
}

// slashWord is the word for a field's value in the usage.
func slashWord(p *Param) string {
	switch kind := slashKind(p); {
	case kind == session.Text:
		return `"` + p.Metavar + `"`
	case p.IsPositional(Slash):
		return p.Metavar
	case kind == session.Nothing:
		return ""
	case kind == session.Message:
		return "ID"
	case kind == session.Driver:
		return "PROGRAM"
	default:
		return strings.ToUpper(p.Name)
	}
}

// BindSlash fills the input of an operation from a slash command. current is the agent on the screen.
func BindSlash(o Operation, values map[string]string, current id.Agent) (any, error) {
	in := o.New()
	for _, p := range o.Params() {
		word, given := values[p.Name]
		if p.Current && !given {
			word, given = string(current), true
		}
		if !given {
			continue
		}
		if err := p.Set(in, word); err != nil {
			return nil, Explain(o, Slash, err)
		}
	}
	return in, SetDefaults(o, Slash, in)
}
