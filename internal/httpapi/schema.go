package httpapi

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"ramet/internal/telemetry"
)

// The schemas of the OpenAPI document are made here, from the types that are read and
// written, by the rules of encoding/json. A library that also serves the routes (huma)
// was tried and left out: it can not say that a field is an object or null, which
// several of ours are, it reads bodies before we have looked at their depth, and it
// answers errors in a form of its own.

// Schema is a JSON Schema (2020-12).
type Schema map[string]any

// schemed types say themselves what they look like.
type schemed interface {
	schema(*schemas) Schema
}

// schemas collects the named types of a document.
type schemas struct {
	named map[string]Schema
	types map[string]reflect.Type
}

func newSchemas() *schemas {
	return &schemas{map[string]Schema{}, map[string]reflect.Type{}}
}

var (
	timeType    = reflect.TypeFor[time.Time]()
	rawType     = reflect.TypeFor[json.RawMessage]()
	schemedType = reflect.TypeFor[schemed]()
	textType    = reflect.TypeFor[encoding.TextMarshaler]()
	jsonType    = reflect.TypeFor[json.Marshaler]()
)

// enums are the types of string that have few values.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[telemetry.Status]():  words(telemetry.Statuses()...),
	reflect.TypeFor[telemetry.JobType](): words(telemetry.JobTypes()...),
	reflect.TypeFor[telemetry.Outcome](): words(telemetry.Created, telemetry.Duplicate),
}

func words[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = string(one)
	}
	return out
}

// of is the schema of a type; structs with names are put down once and referred to.
func (s *schemas) of(t reflect.Type) Schema {
	switch {
	case t.Kind() == reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case t == timeType:
		return Schema{"type": "string", "format": "date-time"}
	case t == rawType, t.Kind() == reflect.Interface:
		return Schema{} // anything
	case t.Implements(schemedType):
		return s.put(t, reflect.Zero(t).Interface().(schemed).schema)
	case enums[t] != nil:
		return Schema{"type": "string", "enum": enums[t]}
	case t.Implements(textType):
		return Schema{"type": "string"}
	case t.Implements(jsonType):
		return Schema{}
	}
	switch t.Kind() {
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 { // bytes are base64 in JSON
			return Schema{"type": "string", "contentEncoding": "base64"}
		}
		return Schema{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.put(t, func(*schemas) Schema { return s.object(t) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Schema{"type": "integer"}
	}
	panic("httpapi: " + t.String() + " has no JSON")
}

// orNull allows null too.
func orNull(one Schema) Schema {
	if kind, ok := one["type"].(string); ok && one["enum"] == nil {
		one = maps.Clone(one)
		one["type"] = []string{kind, "null"}
		return one
	}
	if several, ok := one["anyOf"].([]any); ok {
		one = maps.Clone(one)
		one["anyOf"] = append(slices.Clip(several), Schema{"type": "null"})
		return one
	}
	return Schema{"anyOf": []any{one, Schema{"type": "null"}}}
}

// put makes the schema of a named type once.
func (s *schemas) put(t reflect.Type, make func(*schemas) Schema) Schema {
	name := t.Name()
	if name == "" {
		return make(s)
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	if at, taken := s.types[name]; taken && at != t {
		pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	if s.types[name] == nil {
		s.types[name] = t // first, for types that hold themselves
		s.named[name] = make(s)
	}
	return Schema{"$ref": "#/components/schemas/" + name}
}

func (s *schemas) object(t reflect.Type) Schema {
	properties, required := Schema{}, []string{}
	for _, f := range fields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		kind := f.Type
		if optional && kind.Kind() == reflect.Pointer {
			kind = kind.Elem() // left out instead of null
		}
		properties[name] = s.of(kind)
		if !optional {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return Schema{"type": "object", "properties": properties, "required": required}
}

// fields lists what encoding/json shows of a struct; a field of an embedded struct is
// hidden by one of the same name outside.
func fields(t reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" || hidden(t, f) {
			continue
		}
		out = append(out, f)
	}
	return out
}

func hidden(t reflect.Type, f reflect.StructField) bool {
	best, ok := t.FieldByName(f.Name)
	return !ok || !slices.Equal(best.Index, f.Index)
}

// fieldNames are the names that a struct has in JSON.
func fieldNames(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for _, f := range fields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}
