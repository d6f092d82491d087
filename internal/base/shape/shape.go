// Package shape describes JSON values, publishes the description as a JSON Schema (draft 2020-12), and holds
// values against that (package jsonschema).
package shape

import (
	"fmt"
	"sync/atomic"
)

// Shape describes the form of a JSON value.
type Shape struct {
	kind   kind
	desc   string
	fields []Field
	open   bool // objects: other members are allowed
	elem   *Shape
	enum   []string
	expr   string // strings: a regular expression
	min    float64
	max    float64
	limits bool
	least  int // strings: shortest length in characters; objects: fewest members
	most   int // arrays: most elements; 0: any number
	format string
	bytes  bool // strings: base64 of them
	null   bool // null has the shape too
	either []*Shape
	name   string // references: of what
	to     *Shape // and that itself

	told   atomic.Value // Brief, as []byte, once it was asked for
	schema atomic.Value // *jsonschema.Schema, once a value was checked
}

// copy returns a shape that is about to become another.
func (s *Shape) copy() *Shape {
	c := *s
	c.told, c.schema = atomic.Value{}, atomic.Value{}
	return &c
}

type kind int

const (
	anyKind kind = iota
	stringKind
	integerKind
	numberKind
	boolKind
	objectKind
	arrayKind
	nullKind
	eitherKind
	referenceKind
)

// Field is a member of an object.
type Field struct {
	Name     string
	Shape    *Shape
	Optional bool
	untold   bool
}

// Must returns a member that has to be there.
func Must(name string, s *Shape) Field { return Field{Name: name, Shape: s} }

// May returns a member that can be left out.
func May(name string, s *Shape) Field { return Field{Name: name, Shape: s, Optional: true} }

// Any returns the shape of every value.
func Any() *Shape { return &Shape{} }

// Null returns the shape of null.
func Null() *Shape { return &Shape{kind: nullKind} }

// Text returns the shape of a string of at least so many characters.
func Text(least int) *Shape { return &Shape{kind: stringKind, least: least} }

// Match returns the shape of a string that a regular expression, anchored at both ends, fits.
func Match(expr string) *Shape { return &Shape{kind: stringKind, expr: `^(?:` + expr + `)$`} }

// Hex returns the shape of a string of so many hex digits in lower case.
func Hex(digits int) *Shape { return Match(fmt.Sprintf(`[0-9a-f]{%d}`, digits)) }

// Enum returns the shape of one of some strings.
func Enum(values ...string) *Shape { return &Shape{kind: stringKind, enum: values} }

// Integer returns the shape of a whole number from least to what a double holds exactly.
func Integer(least int64) *Shape { return Range(least, 1<<53-1) }

// Whole returns the shape of any whole number.
func Whole() *Shape { return &Shape{kind: integerKind} }

// Range returns the shape of a whole number from least to most.
func Range(least, most int64) *Shape {
	return &Shape{kind: integerKind, limits: true, min: float64(least), max: float64(most)}
}

// Real returns the shape of any number.
func Real() *Shape { return &Shape{kind: numberKind} }

// Number returns the shape of a number within limits.
func Number(least, most float64) *Shape {
	return &Shape{kind: numberKind, limits: true, min: least, max: most}
}

// Bool returns the shape of true or false.
func Bool() *Shape { return &Shape{kind: boolKind} }

// Object returns the shape of an object that has these members and no others.
func Object(fields ...Field) *Shape { return &Shape{kind: objectKind, fields: fields} }

// Open returns the shape of an object that may have other members too.
func Open(fields ...Field) *Shape { return &Shape{kind: objectKind, fields: fields, open: true} }

// Map returns the shape of an object whose members all have one shape.
func Map(elem *Shape) *Shape { return &Shape{kind: objectKind, open: true, elem: elem} }

// List returns the shape of an array.
func List(elem *Shape) *Shape { return &Shape{kind: arrayKind, elem: elem} }

// Either returns the shape of one of several shapes.
func Either(shapes ...*Shape) *Shape { return &Shape{kind: eitherKind, either: shapes} }

// OrNull returns the shape, or null.
func (s *Shape) OrNull() *Shape {
	switch {
	case s.kind == anyKind || s.kind == referenceKind || s.enum != nil:
		return Either(s, Null())
	case s.kind == eitherKind:
		return &Shape{kind: eitherKind, desc: s.desc, either: append(s.either[:len(s.either):len(s.either)], Null())}
	}
	c := s.copy()
	c.null = true
	return c
}

// Format returns a copy of a string's shape that says what its characters mean, as
// date-time or uuid. It is told, not checked.
func (s *Shape) Format(name string) *Shape {
	c := s.copy()
	c.format = name
	return c
}

// AtMost returns a copy of an array's shape with so many elements at most.
func (s *Shape) AtMost(elements int) *Shape {
	c := s.copy()
	c.most = elements
	return c
}

// AtLeast returns a copy of an object's shape with so many members at least.
func (s *Shape) AtLeast(members int) *Shape {
	c := s.copy()
	c.least = members
	return c
}

// With returns a copy with a description for the published schema.
func (s *Shape) With(desc string) *Shape {
	c := s.copy()
	c.desc = desc
	return c
}

// Description returns what With set.
func (s *Shape) Description() string { return s.desc }
