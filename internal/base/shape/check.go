package shape

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Check reports whether a JSON text has the shape. Texts that two programs could
// read differently, with a key twice or with broken UTF-8, are not JSON here.
func (s *Shape) Check(text []byte) error {
	if !jsontext.Value(text).IsValid() {
		return &Error{What: "not JSON: " + syntaxError(text)}
	}
	return s.CheckValid(text)
}

// Valid calls json.Valid, in a third of its time: the arguments of all calls of a conversation are looked at
// with each request.
func Valid(text []byte) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// CheckValid does what Check does for a text that is known to be JSON, and to have no key
// twice.
func (s *Shape) CheckValid(text []byte) error {
	v, _ := nextValue(text, 0)
	return s.check(v, nil)
}

// syntaxError describes what is wrong with a text that is no JSON.
func syntaxError(text []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := dec.ReadValue(); err != nil {
		return err.Error()
	}
	return "something follows the value"
}

// place is the position of a value. It becomes a pointer only when something is
// wrong: most values are right.
type place struct {
	up    *place
	key   []byte // as it is in the text, with quotes; nil in an array
	index int
}

func (p *place) pointer() string {
	switch {
	case p == nil:
		return ""
	case p.key == nil:
		return p.up.pointer() + "/" + strconv.Itoa(p.index)
	}
	return p.up.pointer() + "/" + Escape(string(unquoteText(p.key)))
}

func (p *place) wrong(format string, args ...any) error {
	return &Error{p.pointer(), fmt.Sprintf(format, args...)}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Escape returns a key as one step of a JSON pointer.
func Escape(key string) string { return pointerEscapes.Replace(key) }

// check works on one value, whose syntax is known to be good.
func (s *Shape) check(v []byte, at *place) error {
	switch s.kind {
	case anyKind:
		return nil
	case eitherKind:
		return s.checkEither(v, at)
	case referenceKind:
		return s.to.check(v, at)
	}
	k := kindOf(v)
	if !s.fits(k) {
		return at.wrong("must be %s", s.kindName())
	}
	if s.null && k == nullKind {
		return nil
	}
	switch s.kind {
	case objectKind:
		return s.checkObject(v, at)
	case arrayKind:
		return s.checkArray(v, at)
	case stringKind:
		return s.checkText(unquoteText(v), at)
	case integerKind, numberKind:
		return s.checkNumber(v, at)
	}
	return nil
}

// checkEither asks only the shapes of the value's own kind; the first of them says
// what is wrong.
func (s *Shape) checkEither(v []byte, at *place) error {
	var first error
	for _, one := range s.either {
		if !one.fits(kindOf(v)) {
			continue
		}
		err := one.check(v, at)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		return at.wrong("must be %s", s.kindName())
	}
	return first
}

// fits reports whether a value of this kind can have the shape at all.
func (s *Shape) fits(k kind) bool {
	if s.kind == eitherKind {
		return slices.ContainsFunc(s.either, func(one *Shape) bool { return one.fits(k) })
	}
	if s.kind == referenceKind {
		return s.to.fits(k)
	}
	return s.kind == k || s.null && k == nullKind || s.kind == anyKind || s.kind == integerKind && k == numberKind
}

// kindName names the kinds of values that can have the shape.
func (s *Shape) kindName() string {
	var names []string
	for _, one := range s.either {
		if name := one.kindName(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if s.kind == referenceKind {
		return s.to.kindName()
	}
	if s.null {
		return kindNames[s.kind] + " or null"
	}
	return kindNames[s.kind] + strings.Join(names, " or ")
}

var kindNames = map[kind]string{stringKind: "a string", integerKind: "an integer", numberKind: "a number",
	boolKind: "true or false", objectKind: "an object", arrayKind: "an array", nullKind: "null"}

func (s *Shape) checkNumber(v []byte, at *place) error {
	f, err := strconv.ParseFloat(string(v), 64)
	switch {
	case err != nil:
		return at.wrong("does not fit a double")
	case s.kind == integerKind && f != math.Trunc(f):
		return at.wrong("must be an integer")
	case s.limits && (f < s.min || f > s.max):
		return at.wrong("must be from %s to %s", formatNumber(s.min), formatNumber(s.max))
	}
	return nil
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (s *Shape) checkText(text []byte, at *place) error {
	switch {
	case s.enum != nil && !containsText(s.enum, text):
		return at.wrong("must be one of %s, not %.60q", strings.Join(s.enum, ", "), text)
	case s.match != nil && !s.match(text):
		return at.wrong("%.80q does not fit %s", text, s.expr)
	case s.least == 1 && len(text) == 0:
		return at.wrong("must not be empty")
	case s.least > 1 && utf8.RuneCount(text) < s.least:
		return at.wrong("must have %d or more characters", s.least)
	}
	return nil
}

func containsText(list []string, text []byte) bool {
	for _, one := range list {
		if one == string(text) {
			return true
		}
	}
	return false
}

func (s *Shape) checkObject(v []byte, at *place) error {
	seen, members := uint64(0), 0
	for i := skipSpace(v, 1); v[i] != '}'; members++ {
		var key, value []byte
		key, i = nextValue(v, i)
		value, i = nextValue(v, i)
		shape, plain := s.elem, unquoteText(key)
		for j := range s.fields {
			if s.fields[j].Name == string(plain) {
				shape = s.fields[j].Shape
				seen |= 1 << j
			}
		}
		here := place{up: at, key: key}
		if shape == nil && !s.open {
			return here.wrong("no such field here")
		}
		if shape == nil {
			continue
		}
		if err := shape.check(value, &here); err != nil {
			return err
		}
	}
	for j := range s.fields {
		if !s.fields[j].Optional && seen&(1<<j) == 0 {
			return &Error{at.pointer() + "/" + Escape(s.fields[j].Name), "is missing"}
		}
	}
	if members < s.least {
		return at.wrong("must have %d or more members", s.least)
	}
	return nil
}

func (s *Shape) checkArray(v []byte, at *place) error {
	for i, n := skipSpace(v, 1), 0; v[i] != ']'; n++ {
		var value []byte
		value, i = nextValue(v, i)
		if s.most > 0 && n >= s.most {
			return at.wrong("must have %d elements at most", s.most)
		}
		if err := s.elem.check(value, &place{up: at, index: n}); err != nil {
			return err
		}
	}
	return nil
}
