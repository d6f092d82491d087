package operation

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/run"
)

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
		return shape.Text(0) // Check says what is wrong with an empty one
	}
	return shape.Text(1)
}
