package operation

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
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
