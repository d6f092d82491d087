package operation

import (
	"encoding/json"
	"errors"
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
	for _, name := range sortedNames(members) {
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

func sortedNames(members map[string]jsontext.Value) []string {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func namesOf(params []Param, path []string) (out []string) {
	for _, p := range params {
		if !slices.Contains(path, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}
