package operation

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/operation/session"
	"ramet/internal/run"
)

// Param is a field of an input as faces offer it. It is described by the field's type and tags:
//
//	json     its name; without omitempty it is required
//	help     what it is for
//	arg      it is positional on the command line, under this name: "AGENT"; "AGENT!": required there; "[MODE]":
//	         optional there and in the slash command
//	slash    it is positional in a slash command, under this name; "-": it is not offered there, and an
//	         agent is the one on the screen; "[AGENT]": that is so where none is given
//	flag     the name of its flag, if it has another one
//	value    what help calls the flag's value: FILE; by default its type
//	short    a one-letter flag
//	alias    other names that are accepted, where no other field has them
//	faces    the faces that offer it: "http mcp"; "-": none. By default all do
//	range    the numbers that are accepted: "1..1000 mcp=1..20"; one of a face counts only for JSON
//	default  its value where it is not given: "later http=turn mcp=task"
type Param struct {
	Name, Help, Short string
	Value             string // what help calls a flag's value; empty: its type
	Aliases           []string
	Type              reflect.Type // without pointer
	Metavar           string       // its name as a positional argument
	Current           bool         // in a slash command it is the agent on the screen, unless another is given

	faces, positional Face
	required          Face
	defaults, ranges  string
	flag              string
	index             []int
	pointer           bool
}

func paramsOf(of reflect.Type) []Param {
	out := make([]Param, 0, of.NumField())
	for _, f := range reflect.VisibleFields(of) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := Param{Name: name, Help: f.Tag.Get("help"), Short: f.Tag.Get("short"), Value: f.Tag.Get("value"), flag: f.Tag.Get("flag"), Aliases: strings.Fields(f.Tag.Get("alias")),
			Type: f.Type, faces: CLI | HTTP | MCP | Slash, defaults: f.Tag.Get("default"), ranges: f.Tag.Get("range"), index: f.Index}
		if options != "omitempty" {
			p.required = p.faces
		}
		if p.Type.Kind() == reflect.Pointer {
			p.Type, p.pointer = p.Type.Elem(), true
		}
		if only, ok := f.Tag.Lookup("faces"); ok {
			p.faces = parseFaces(only)
		}
		if arg := f.Tag.Get("arg"); arg != "" {
			p.Metavar = strings.Trim(arg, "[]!")
			p.positional |= CLI
			if strings.HasSuffix(arg, "!") {
				p.required |= CLI
			}
			if strings.HasPrefix(arg, "[") {
				p.required &^= CLI | Slash
			}
		}
		switch at := f.Tag.Get("slash"); at {
		case "":
			if p.positional == CLI {
				p.positional |= Slash
			}
		case "-":
			p.faces &^= Slash
			p.Current = p.Type == reflect.TypeFor[AgentRef]()
		default:
			p.Metavar = strings.Trim(at, "[]")
			if p.Current = strings.HasPrefix(at, "["); p.Current {
				p.required &^= Slash
			}
			p.positional |= Slash
		}
		out = append(out, p)
	}
	return out
}

func parseFaces(words string) (out Face) {
	for word := range strings.FieldsSeq(words) {
		out |= faceNamed(word)
	}
	return out
}

func faceNamed(word string) Face {
	switch word {
	case "cli":
		return CLI
	case "http":
		return HTTP
	case "mcp":
		return MCP
	case "slash":
		return Slash
	}
	return 0
}

// On reports whether a face offers the field.
func (p *Param) On(f Face) bool { return p.faces&f != 0 }

// Required reports whether the field must be given on a face.
func (p *Param) Required(f Face) bool { return p.required&f != 0 }

// IsPositional reports whether the field is a positional argument on a face.
func (p *Param) IsPositional(f Face) bool { return p.positional&f != 0 }

// Written returns the field's name as a face writes it.
func (p *Param) Written(f Face) string {
	switch {
	case p.IsPositional(f):
		return p.Metavar
	case f&(CLI|Slash) != 0:
		return "--" + p.Flag()
	}
	return p.Name
}

// Flag returns the field's name as a flag: dry_run is --dry-run.
func (p *Param) Flag() string { return cmp.Or(p.flag, strings.ReplaceAll(p.Name, "_", "-")) }

// Default returns the field's value on a face where it is not given; empty: its zero value.
func (p *Param) Default(f Face) string { return chooseFor(f, p.defaults) }

// chooseFor returns the word of a tag that counts on a face: "later http=turn".
func chooseFor(f Face, words string) (value string) {
	for word := range strings.FieldsSeq(words) {
		if face, own, ok := strings.Cut(word, "="); !ok {
			value = word
		} else if faceNamed(face) == f {
			return own
		}
	}
	return value
}

// limits returns the smallest and the largest number that a face accepts; false: any is.
func (p *Param) limits(f Face) (least, most int64, ok bool) {
	low, high, ok := strings.Cut(chooseFor(f, p.ranges), "..")
	least, _ = strconv.ParseInt(low, 10, 64)
	if most = math.MaxInt64; high != "" {
		most, _ = strconv.ParseInt(high, 10, 64)
	}
	return least, most, ok
}

// Get returns the field of an input; nil if it is a pointer that is not set.
func (p *Param) Get(in any) any {
	v := reflect.ValueOf(in).Elem().FieldByIndex(p.index)
	if !p.pointer {
		return v.Interface()
	}
	if v.IsNil() {
		return nil
	}
	return v.Elem().Interface()
}

// Offered returns the fields that a face offers, in order.
func Offered(o Operation, f Face) []Param {
	return slices.DeleteFunc(slices.Clone(o.Params()), func(p Param) bool { return !p.On(f) })
}

// findParam returns the field that a face calls so, by its name or an alias that no other field has there.
// HTTP calls only fields of the body by name: path holds those of the path.
func findParam(params []Param, name string, path []string) *Param {
	for i := range params {
		if params[i].Name == name && !slices.Contains(path, name) {
			return &params[i]
		}
	}
	for i := range params {
		if slices.Contains(params[i].Aliases, name) {
			return &params[i]
		}
	}
	return nil
}

// SetDefaults fills fields that have their zero value with the defaults of a face.
func SetDefaults(o Operation, f Face, in any) error {
	params := o.Params()
	for i := range params {
		p := &params[i]
		value := p.Default(f)
		if value == "" || !reflect.ValueOf(in).Elem().FieldByIndex(p.index).IsZero() {
			continue
		}
		if err := p.Set(in, value); err != nil {
			return err
		}
	}
	return nil
}

// The type of a field decides how it is parsed, checked and completed, on every face.
type (
	// AgentRef names an agent: 0, a name, a uuid, or the beginning of one.
	AgentRef string
	// Text is prose. On the command line "-" reads it from standard input.
	Text string
	// Model is vendor/name, or with a driver that program's own word for a model.
	Model string
	// Driver names a program that drives agents.
	Driver string
	// Mode is a mode of permission, or one of the program that drives an agent.
	Mode string
	// LetterNumber is the number of a letter in its mailbox, from 1.
	LetterNumber int64
	// Duration is a time with its unit, such as 90s; in JSON a number of seconds.
	Duration time.Duration
	// Role names a definition of agents.
	Role string
	// Recipe names a recipe, or is the path of its file.
	Recipe string
	// Label names a mark.
	Label string
	// TrashRef names files in the trash: the id of an item or of an act, or a path.
	TrashRef string
	// Path is a file. The command line makes it absolute.
	Path string
	// Pairs are names with their values: an object in JSON, NAME=VALUE on the command line, repeated.
	Pairs map[string]string
	// Size is a number of bytes. On the command line it may have a unit: 500MB.
	Size int64
)

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	seconds, err := strconv.ParseFloat(string(b), 64)
	*d = Duration(seconds * float64(time.Second))
	return err
}

// Words is a type of string with few values.
type Words interface{ Words() []string }

// Refuser is a type with few values that says itself what is wrong with another word; nil: nothing, words of a command
// line and query are accepted.
type Refuser interface{ Refuse(word string) error }

func wordsOf[T ~string](list []T) (out []string) {
	for _, one := range list {
		out = append(out, string(one))
	}
	return out
}

// Words returns the values of a field that has only few; nil: any.
func (p *Param) Words() []string {
	if p.Type == reflect.TypeFor[llm.Effort]() {
		return llm.Efforts()
	}
	if few, ok := reflect.Zero(p.Type).Interface().(Words); ok {
		return few.Words()
	}
	return nil
}

// Set parses a word of a command line or query into the field.
func (p *Param) Set(in any, word string) error {
	field := reflect.ValueOf(in).Elem().FieldByIndex(p.index)
	if p.Type == reflect.TypeFor[Pairs]() {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return Invalid(p.Name, fault.Usage, "{%s} %.60q is not a NAME=VALUE", p.Name, word)
		}
		if field.IsNil() {
			field.Set(reflect.ValueOf(Pairs{}))
		}
		field.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(value))
		return nil
	}
	of := p.Type
	if of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	value, err := p.parse(of, word)
	if err != nil {
		return At(p.Name, err)
	}
	typed := reflect.ValueOf(value).Convert(of)
	switch {
	case p.pointer:
		field.Set(reflect.New(p.Type))
		field.Elem().Set(typed)
	case p.Type.Kind() == reflect.Slice:
		field.Set(reflect.Append(field, typed))
	default:
		field.Set(typed)
	}
	return nil
}

// parse parses a word as a value of a type, which is the field's or that of its elements.
func (p *Param) parse(of reflect.Type, word string) (any, error) {
	if of == reflect.TypeFor[id.Message]() {
		return id.ParseMessage(word)
	}
	if of == reflect.TypeFor[RunID]() {
		return word, run.CheckRunID(word)
	}
	if of == reflect.TypeFor[LetterNumber]() {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 1 {
			return nil, fault.New(fault.InvalidID, "%q is not the number of a mail message", word).WithHint("`ramet mail` lists them")
		}
		return n, nil
	}
	if of == reflect.TypeFor[AgentRef]() && word == "" {
		return nil, fault.New(fault.NotFound, `no agent ""`).WithHint("`ramet ps --all` lists the agents")
	}
	if few := p.Words(); few != nil && !slices.Contains(few, word) {
		own, ok := reflect.Zero(of).Interface().(Refuser)
		if !ok {
			return nil, refuseWord(p.Name, word, few)
		}
		if err := own.Refuse(word); err != nil {
			return nil, err
		}
	}
	if of == reflect.TypeFor[Duration]() {
		d, err := time.ParseDuration(word)
		return d, p.noValue(word, "a time with its unit, such as 90s or 10m", err)
	}
	if of == reflect.TypeFor[Size]() {
		n, ok := text.ParseSize(word)
		if !ok {
			return nil, Invalid(p.Name, fault.Usage, "{%s} %.40q is not a size", p.Name, word).Hint("write 500MB or 2GB")
		}
		return n, nil
	}
	switch of.Kind() {
	case reflect.Bool:
		yes, err := strconv.ParseBool(word)
		return yes, p.noValue(word, "true or false", err)
	case reflect.Float64:
		n, err := strconv.ParseFloat(word, 64)
		return n, p.noValue(word, "a number", err)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(word, 10, 64)
		least, most, ok := p.limits(0)
		if !ok {
			return n, p.noValue(word, "a number", err)
		}
		wanted := fmt.Sprintf("a number from %d to %d", least, most)
		if err == nil && (n < least || n > most) {
			e := Invalid(p.Name, fault.InvalidField, "{%s} must be %s", p.Name, wanted)
			e.About = "must be " + wanted
			return nil, e
		}
		return n, p.noValue(word, wanted, err)
	}
	if named := slices.Contains(nameTypes(), of); named && word == "" {
		return nil, Invalid(p.Name, fault.Usage, "{%s} needs a name", p.Name)
	}
	return word, nil
}

// refuseWord returns the error of a field that has only few values.
func refuseWord(field, word string, few []string) error {
	e := Invalid(field, fault.Usage, "%.40q is not a valid %s", word, field).Hint(text.NearestHint(word, few, "one of "+strings.Join(few, ", ")))
	e.Suggestion = text.NearestWord(word, few)
	return e
}

// nameTypes returns the types of strings that cannot be empty.
func nameTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[Model](), reflect.TypeFor[Driver](), reflect.TypeFor[Role]()}
}

func (p *Param) noValue(word, wanted string, err error) error {
	if err == nil {
		return nil
	}
	e := Invalid(p.Name, fault.Usage, "%.80q is not a value for {%s}", word, p.Name).Hint("it takes " + wanted)
	e.Malformed, e.About = true, "must be "+wanted
	return e
}

// shape returns the JSON form of the field.
func (p *Param) shape(f Face) *shape.Shape {
	if few := p.Words(); few != nil {
		return shape.Enum(few...)
	}
	if p.Type == reflect.TypeFor[id.Message]() || p.Type == reflect.TypeFor[LetterNumber]() {
		return shape.Integer(1)
	}
	least, most, limited := p.limits(f)
	switch {
	case p.Type == reflect.TypeFor[Duration]():
		return shape.Number(float64(least), float64(most))
	case p.Type == reflect.TypeFor[Size]():
		return shape.Integer(0)
	case limited:
		return shape.Range(least, min(most, 1<<53-1))
	}
	switch p.Type.Kind() {
	case reflect.Bool:
		return shape.Bool()
	case reflect.Int, reflect.Int64:
		return shape.Whole()
	case reflect.Float64:
		return shape.Number(0, math.MaxFloat64)
	case reflect.Slice:
		return shape.List(shape.Text(1))
	case reflect.Map:
		return shape.Map(shape.Text(0))
	}
	if p.Type == reflect.TypeFor[Text]() {
		return shape.Text(0) // Check refuses an empty one
	}
	return shape.Text(1)
}

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

// slashWord returns the word for a field's value in the usage.
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
