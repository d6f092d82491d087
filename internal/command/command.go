package command

import (
	"strings"

	"ramet/internal/id"
)

// Command is one line, understood. A field that the command does not have, or that
// was left out, is empty or nil.
type Command struct {
	Name string // as in the Table

	Agent    string      // kill, send, switch: whom; filter-mail: from whom
	Text     string      // fork: the prompt; send: the letter
	NewName  string      // fork --name, rename
	Label    string      // mark, rewind
	Model    string      // fork --model, model
	Path     string      // export; import: a file, or a program
	Role     string      // fork --agent
	Driver   string      // fork --driver
	Mode     string      // mode
	Effort   string      // fork --effort, effort
	Topic    string      // help: the command asked about
	Vendor   string      // key
	Rule     string      // permissions --remove
	Setting  string      // config
	Value    string      // config
	At       *id.Message // fork --at; rewind, where it names an id
	Number   *int64      // read-mail, delete-mail
	Cascade  bool        // kill
	All      bool        // import
	Worktree bool        // fork
	Clean    bool        // fork, with Worktree: only what is committed
}

// Kind is what an argument or option takes.
type Kind string

// The kinds of arguments. Those of agents, labels, models, paths and commands can
// be completed.
const (
	Agent   Kind = "agent"
	Label   Kind = "label" // or, for rewind, a message id
	Model   Kind = "model"
	Path    Kind = "path"
	Mode    Kind = "mode"
	Effort  Kind = "effort"
	Topic   Kind = "command"
	Name    Kind = "name"
	Role    Kind = "role"
	Driver  Kind = "driver"
	Vendor  Kind = "vendor"
	Rule    Kind = "rule"
	Setting Kind = "setting"
	Value   Kind = "value"
	Message Kind = "message"
	Number  Kind = "number"
	Text    Kind = "text"
	Nothing Kind = "" // an option that is there or not
)

// Argument is one argument or option in a command's usage.
type Argument struct {
	Flag     string // "--name"; empty for one that goes by its place
	Kind     Kind
	Required bool
}

// Row is one command.
type Row struct {
	Name      string
	Usage     string // "/kill [AGENT] [--cascade]"
	Summary   string // one line
	Help      string // what else there is to know; may be empty
	Arguments []Argument
}

// Find gives the row of a command.
func Find(name string) (Row, bool) {
	for _, row := range table {
		if row.Name == name {
			return row, true
		}
	}
	return Row{}, false
}

// Names are those of all commands.
func Names() []string {
	all := make([]string, len(table))
	for i, row := range table {
		all[i] = row.Name
	}
	return all
}

func (r Row) places() []Argument {
	var places []Argument
	for _, a := range r.Arguments {
		if a.Flag == "" {
			places = append(places, a)
		}
	}
	return places
}

func (r Row) flag(name string) (Argument, bool) {
	for _, a := range r.Arguments {
		if a.Flag == name && name != "" {
			return a, true
		}
	}
	return Argument{}, false
}

func (r Row) flags() []string {
	var flags []string
	for _, a := range r.Arguments {
		if a.Flag != "" {
			flags = append(flags, a.Flag)
		}
	}
	return flags
}

// takes are the arguments as the usage has them.
func (r Row) takes() string { return strings.TrimPrefix(strings.TrimPrefix(r.Usage, "/"+r.Name), " ") }
