package operation

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/fault"
	"ramet/internal/base/id"
	"ramet/internal/base/shape"
	"ramet/internal/base/text"
)

// Shape returns the JSON form of an operation's input on a face: the schema of an MCP tool, the
// body of an HTTP request. Fields in path are left out.
func Shape(o Operation, f Face, path ...string) *shape.Shape {
	return shape.Object(Fields(o, f, path...)...)
}

// Fields returns the fields of Shape.
func Fields(o Operation, f Face, path ...string) (fields []shape.Field) {
	for _, p := range Offered(o, f) {
		if slices.Contains(path, p.Name) {
			continue
		}
		one := p.shape(f)
		if help := Expand(o, f, p.Help); p.Type == reflect.TypeFor[Duration]() {
			one = one.With(help + ", in seconds")
		} else if help != "" {
			one = one.With(help)
		}
		fields = append(fields, shape.Field{Name: p.Name, Shape: one, Optional: !p.Required(f)})
	}
	return fields
}

// Decode reads an input from JSON. It accepts aliases, takes null and, for optional texts, "" as not
// given, and refuses unknown names. From models it accepts what they plainly meant (shape.Take).
func Decode(o Operation, f Face, body []byte, in any, path ...string) error {
	if len(body) == 0 {
		body = []byte("{}")
	}
	var members map[string]jsontext.Value
	if err := jsonv2.Unmarshal(body, &members); err != nil {
		return Invalid("", fault.InvalidField, "must be an object: %w", err)
	}
	params := Offered(o, f)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		p := findParam(params, name, path)
		if p == nil {
			e := Invalid(name, fault.InvalidField, "%s has no field %.80q", o.Describe().Name, name)
			e.About = "no such field here"
			e.Suggestion = text.NearestWord(name, namesOf(params, path))
			return e
		}
		value := members[name]
		if p.Name != name {
			delete(members, name)
			if _, twice := members[p.Name]; twice {
				return Invalid(name, fault.InvalidField, "%s and %s are the same field", name, p.Name)
			}
			members[p.Name] = value
		}
		if !p.Required(f) && (string(value) == "null" || string(value) == `""` || string(value) == "0" && p.Type == reflect.TypeFor[id.Message]()) {
			delete(members, p.Name)
		}
	}
	plain, err := jsonv2.Marshal(members, jsonv2.Deterministic(true))
	if err != nil {
		return err
	}
	form := Shape(o, f, path...)
	if f == MCP {
		plain, _ = form.Take(plain)
	}
	if err := form.Check(plain); err != nil {
		wrong := (*shape.Error)(nil)
		if errors.As(err, &wrong) {
			field, element, _ := strings.Cut(strings.TrimPrefix(wrong.Pointer, "/"), "/")
			e := Invalid(field, fault.InvalidField, "%s %s", wrong.Path(), wrong.What)
			if element == "" {
				e.About = wrong.What
			}
			return e
		}
		return Invalid("", fault.InvalidField, "%w", err)
	}
	if err := json.Unmarshal(plain, in); err != nil {
		return Invalid("", fault.InvalidField, "cannot be read: %w", err)
	}
	return SetDefaults(o, f, in)
}

// GivenName returns the name by which a JSON text gives a field: its own, or an alias.
func GivenName(o Operation, field string, body []byte) string {
	var members map[string]jsontext.Value
	if jsonv2.Unmarshal(body, &members) != nil || members[field] != nil {
		return field
	}
	for _, p := range o.Params() {
		for _, alias := range p.Aliases {
			if p.Name == field && members[alias] != nil {
				return alias
			}
		}
	}
	return field
}

func namesOf(params []Param, path []string) (out []string) {
	for _, p := range params {
		if !slices.Contains(path, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}

// FieldError is a fault that one field of the input causes.
type FieldError struct {
	Field      string
	About      string // what is wrong with the field, if the message tells more
	Suggestion string // a value or name that was probably meant; empty: none
	Malformed  bool   // a word is no value of the field's type
	Fault      *fault.Error
}

func (e *FieldError) Error() string { return e.Fault.Error() }

// Unwrap returns the fault.
func (e *FieldError) Unwrap() error { return e.Fault }

// Invalid returns a fault that a field causes. {name} in the message is written as the face writes
// that field.
func Invalid(field string, code fault.Code, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Fault: fault.New(code, format, args...)}
}

// Hint adds what to do about it.
func (e *FieldError) Hint(hint string) *FieldError {
	e.Fault = e.Fault.WithHint("%s", hint)
	return e
}

// At attributes an error to a field. An error that is no fault, or names a field already, stays as it is.
func At(field string, err error) error {
	f, ok := fault.Of(err)
	if known := (*FieldError)(nil); !ok || errors.As(err, &known) {
		return err
	}
	return &FieldError{Field: field, Fault: f}
}

// checkGiven checks an optional field if it is given.
func checkGiven[T ~string](field string, given *T, check func(string) error) error {
	if given == nil {
		return nil
	}
	return At(field, check(string(*given)))
}

// valueOf returns the value of an optional field, or its zero value.
func valueOf[T any](given *T) (value T) {
	if given != nil {
		value = *given
	}
	return value
}

// Explain writes the fields that an error names as a face does.
func Explain(o Operation, f Face, err error) error {
	e, ok := errors.AsType[*FieldError](err)
	if !ok {
		return err
	}
	told, cause := *e, *e.Fault
	cause.Message, cause.Hint = Expand(o, f, cause.Message), Expand(o, f, cause.Hint)
	told.Fault = &cause
	return &told
}

// Expand replaces {name} in a text by the field of that name, as a face writes it. Other braces stay.
func Expand(o Operation, f Face, text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	for _, p := range o.Params() {
		text = strings.ReplaceAll(text, "{"+p.Name+"}", p.Written(f))
	}
	return text
}
