package session

import (
	"strings"

	"ramet/internal/base/id"
)

// Command is one line, understood. A field that the command does not have, or that
// was left out, is empty or nil.
type Command struct {
	Name string // as in the Table

	// Values has the words of arguments that are fields of an operation's input, by Field.
	Values map[string]string

	Agent   string      // switch: to whom; filter-mail: from whom
	Label   string      // rewind
	Model   string      // model
	Path    string      // export; import: a file, or a program
	Mode    string      // mode
	Effort  string      // effort
	Topic   string      // help: the command asked about
	Vendor  string      // key
	Rule    string      // permissions --remove
	Setting string      // config
	Value   string      // config
	At      *id.Message // rewind, where it names an id; diff
	All     bool        // import
}

// CommandKind is what an argument or option takes.
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
	Field    string // of an operation's input; empty: it is a field of Command
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
