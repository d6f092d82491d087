// Package shape describes JSON values once and uses the description twice: to
// check a value, fast, with a JSON pointer to what is wrong, and to publish it
// as a JSON Schema (draft 2020-12). A test holds both to the same verdict.
package shape

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Shape is what a JSON value must look like.
type Shape struct {
	kind   kind
	desc   string
	fields []Field
	open   bool // objects: other members are allowed
	elem   *Shape
	enum   []string
	expr   string // strings: what match compiles
	match  func() *regexp.Regexp
	min    float64
	max    float64
	limits bool
	least  int // strings: shortest length in characters
	either []*Shape
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
)

// Field is a member of an object.
type Field struct {
	Name     string
	Shape    *Shape
	Optional bool
}

// Must is a member that has to be there.
func Must(name string, s *Shape) Field { return Field{Name: name, Shape: s} }

// May is a member that can be left out.
func May(name string, s *Shape) Field { return Field{Name: name, Shape: s, Optional: true} }

// Any is every value.
func Any() *Shape { return &Shape{} }

// Null is null.
func Null() *Shape { return &Shape{kind: nullKind} }

// Text is a string of at least so many characters.
func Text(least int) *Shape { return &Shape{kind: stringKind, least: least} }

// Match is a string that a regular expression, anchored at both ends, fits. It is
// compiled when it is first needed, because shapes are made at every start.
func Match(expr string) *Shape {
	expr = `^(?:` + expr + `)$`
	return &Shape{kind: stringKind, expr: expr,
		match: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
}

// Enum is one of some strings.
func Enum(values ...string) *Shape { return &Shape{kind: stringKind, enum: values} }

// Integer is a whole number from least to what a double holds exactly.
func Integer(least int64) *Shape {
	return &Shape{kind: integerKind, limits: true, min: float64(least), max: 1<<53 - 1}
}

// Number is a number within limits.
func Number(least, most float64) *Shape {
	return &Shape{kind: numberKind, limits: true, min: least, max: most}
}

// Bool is true or false.
func Bool() *Shape { return &Shape{kind: boolKind} }

// Object has these members, at most 64, and no others.
func Object(fields ...Field) *Shape { return &Shape{kind: objectKind, fields: fields} }

// Open is an object that may have other members too.
func Open(fields ...Field) *Shape { return &Shape{kind: objectKind, fields: fields, open: true} }

// Map is an object whose members all have one shape.
func Map(elem *Shape) *Shape { return &Shape{kind: objectKind, open: true, elem: elem} }

// List is an array.
func List(elem *Shape) *Shape { return &Shape{kind: arrayKind, elem: elem} }

// Either is one of several shapes.
func Either(shapes ...*Shape) *Shape { return &Shape{kind: eitherKind, either: shapes} }

// With returns a copy with a description for the published schema.
func (s *Shape) With(desc string) *Shape {
	c := *s
	c.desc = desc
	return &c
}

// Error is what is wrong, and where: Pointer is an RFC 6901 JSON pointer, ""
// for the whole value.
type Error struct {
	Pointer string
	What    string
}

func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.What
	}
	return e.Pointer + ": " + e.What
}

// Check says whether a JSON text has the shape.
func (s *Shape) Check(text []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := dec.ReadValue()
	if err != nil {
		return &Error{What: "not JSON: " + err.Error()}
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return &Error{What: "not JSON: something follows the value"}
	}
	return s.check(v, "")
}

// check works on one value, whose syntax is known to be good.
func (s *Shape) check(v jsontext.Value, at string) error {
	switch s.kind {
	case anyKind:
		return nil
	case eitherKind:
		return s.checkEither(v, at)
	case objectKind:
		return s.checkObject(v, at)
	case arrayKind:
		return s.checkArray(v, at)
	}
	return s.checkScalar(v, at)
}

func (s *Shape) checkEither(v jsontext.Value, at string) error {
	var best error
	same := false
	for _, one := range s.either {
		err := one.check(v, at)
		if err == nil {
			return nil
		}
		// The first of the value's own kind says best what is wrong.
		if fits := one.fits(kindOf(v.Kind())); best == nil || fits && !same {
			best, same = err, fits
		}
	}
	return best
}

// fits says whether a value of this kind can have the shape at all.
func (s *Shape) fits(k kind) bool {
	return s.kind == k || s.kind == anyKind || s.kind == integerKind && k == numberKind
}

func kindOf(k jsontext.Kind) kind {
	switch k {
	case '"':
		return stringKind
	case '{':
		return objectKind
	case '[':
		return arrayKind
	case 'n':
		return nullKind
	case 't', 'f':
		return boolKind
	}
	return numberKind
}

var kindNames = map[kind]string{stringKind: "a string", integerKind: "an integer", numberKind: "a number",
	boolKind: "true or false", objectKind: "an object", arrayKind: "an array", nullKind: "null"}

func (s *Shape) checkScalar(v jsontext.Value, at string) error {
	if !s.fits(kindOf(v.Kind())) {
		return &Error{at, "must be " + kindNames[s.kind]}
	}
	switch s.kind {
	case stringKind:
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return &Error{at, "not a string: " + err.Error()}
		}
		return s.checkText(string(text), at)
	case integerKind, numberKind:
		f, err := strconv.ParseFloat(string(v), 64)
		switch {
		case err != nil:
			return &Error{at, "does not fit a double"}
		case s.kind == integerKind && f != math.Trunc(f):
			return &Error{at, "must be an integer"}
		case s.limits && (f < s.min || f > s.max):
			return &Error{at, fmt.Sprintf("must be from %s to %s", number(s.min), number(s.max))}
		}
	}
	return nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (s *Shape) checkText(text, at string) error {
	switch {
	case s.enum != nil && !slices.Contains(s.enum, text):
		return &Error{at, fmt.Sprintf("must be one of %s, not %.60q", strings.Join(s.enum, ", "), text)}
	case s.match != nil && !s.match().MatchString(text):
		return &Error{at, fmt.Sprintf("%.80q does not fit %s", text, s.expr)}
	case s.least == 1 && text == "":
		return &Error{at, "must not be empty"}
	case s.least > 1 && len(text) < s.least*4 && len([]rune(text)) < s.least:
		return &Error{at, fmt.Sprintf("must have %d or more characters", s.least)}
	}
	return nil
}

func (s *Shape) checkObject(v jsontext.Value, at string) error {
	if v.Kind() != '{' {
		return &Error{at, "must be an object"}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	dec.ReadToken() // {
	seen := uint64(0)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return &Error{at, "not JSON: " + err.Error()}
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return &Error{at, "not JSON: " + err.Error()}
		}
		shape := s.elem
		for i := range s.fields {
			if s.fields[i].Name == key {
				shape = s.fields[i].Shape
				seen |= 1 << i
			}
		}
		if shape == nil && !s.open {
			return &Error{at + "/" + Escape(key), "no such field here"}
		}
		if shape == nil {
			continue
		}
		if err := shape.check(value, at+"/"+Escape(key)); err != nil {
			return err
		}
	}
	for i := range s.fields {
		if !s.fields[i].Optional && seen&(1<<i) == 0 {
			return &Error{at + "/" + Escape(s.fields[i].Name), "is missing"}
		}
	}
	return nil
}

func (s *Shape) checkArray(v jsontext.Value, at string) error {
	if v.Kind() != '[' {
		return &Error{at, "must be an array"}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	dec.ReadToken() // [
	for i := 0; dec.PeekKind() != ']'; i++ {
		value, err := dec.ReadValue()
		if err != nil {
			return &Error{at, "not JSON: " + err.Error()}
		}
		if err := s.elem.check(value, at+"/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Escape is a key as one step of a JSON pointer.
func Escape(key string) string { return pointerEscapes.Replace(key) }
