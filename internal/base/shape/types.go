package shape

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Types makes shapes of Go types, by the rules of encoding/json. A struct with a name is
// described once, and referred to: a document has the descriptions under Prefix. Members that
// it does not name are allowed, as encoding/json allows them.
type Types struct {
	Prefix string                    // of a reference: the name follows
	Words  map[reflect.Type][]string // types of string that have few values

	named map[string]*Shape
	types map[string]reflect.Type
}

// Shaped types say themselves what they look like.
type Shaped interface{ Shape(*Types) *Shape }

// Of returns the shape of a type.
func (t *Types) Of(of reflect.Type) *Shape {
	switch {
	case of.Kind() == reflect.Pointer:
		return t.Of(of.Elem()).OrNull()
	case of == reflect.TypeFor[time.Time]():
		return Text(0).Format("date-time")
	case of == reflect.TypeFor[json.RawMessage](), of.Kind() == reflect.Interface:
		return Any()
	case of.Implements(reflect.TypeFor[Shaped]()):
		return t.put(of, func() *Shape { return reflect.Zero(of).Interface().(Shaped).Shape(t) })
	case t.Words[of] != nil:
		return Enum(t.Words[of]...)
	case of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return Text(0)
	case of.Implements(reflect.TypeFor[json.Marshaler]()):
		return Any()
	}
	switch of.Kind() {
	case reflect.Bool:
		return Bool()
	case reflect.String:
		return Text(0)
	case reflect.Float32, reflect.Float64:
		return Real()
	case reflect.Slice, reflect.Array:
		if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8 {
			return &Shape{kind: stringKind, bytes: true}
		}
		return List(t.Of(of.Elem()))
	case reflect.Map:
		return Map(t.Of(of.Elem()))
	case reflect.Struct:
		return t.put(of, func() *Shape { return Open(t.Fields(of)...) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Whole()
	}
	panic("shape: " + of.String() + " has no JSON")
}

// put makes the shape of a named type once.
func (t *Types) put(of reflect.Type, make func() *Shape) *Shape {
	name := of.Name()
	if name == "" {
		return make()
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	if at, taken := t.types[name]; taken && at != of {
		pkg := of.PkgPath()[strings.LastIndexByte(of.PkgPath(), '/')+1:]
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	if t.types[name] == nil {
		if t.types == nil {
			t.types, t.named = map[string]reflect.Type{}, map[string]*Shape{}
		}
		to := &Shape{}
		t.types[name], t.named[name] = of, to // first, for types that hold themselves
		*to = *make()
	}
	return &Shape{kind: referenceKind, name: t.Prefix + name, to: t.named[name]}
}

// Named describes a shape under a name, and returns a reference to it.
func (t *Types) Named(name string, s *Shape) *Shape {
	if t.types == nil {
		t.types, t.named = map[string]reflect.Type{}, map[string]*Shape{}
	}
	t.types[name], t.named[name] = reflect.TypeOf(s), s
	return &Shape{kind: referenceKind, name: t.Prefix + name, to: s}
}

// Fields returns the members of a struct.
func (t *Types) Fields(of reflect.Type) []Field {
	var out []Field
	for _, f := range visibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = cmp.Or(name, f.Name)
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		kind := f.Type
		if optional && kind.Kind() == reflect.Pointer {
			kind = kind.Elem() // left out instead of null
		}
		out = append(out, Field{Name: name, Shape: t.Of(kind), Optional: optional})
	}
	return out
}

// Schemas returns the descriptions that references lead to, by name.
func (t *Types) Schemas() map[string]any {
	out := map[string]any{}
	for name, one := range t.named {
		out[name] = one.Schema()
	}
	return out
}

// Names returns the names that a struct's members have in JSON; of other types there are none.
func Names(of reflect.Type) []string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for _, f := range visibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

// visibleFields lists what encoding/json shows of a struct; a field of an embedded struct is
// hidden by one of the same name outside.
func visibleFields(of reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		best, ok := of.FieldByName(f.Name)
		hidden := !ok || !slices.Equal(best.Index, f.Index)
		if f.IsExported() && name != "-" && (!f.Anonymous || name != "") && !hidden {
			out = append(out, f)
		}
	}
	return out
}
