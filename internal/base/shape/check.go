package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/jsonschema"
)

// Error describes what is wrong, and where.
type Error = jsonschema.Mismatch

// Check reports whether a JSON text has the shape. Texts that two programs could
// read differently, with a key twice or with broken UTF-8, are not JSON here.
func (s *Shape) Check(text []byte) error {
	if !jsontext.Value(text).IsValid() {
		return &Error{What: "not JSON: " + syntaxError(text)}
	}
	return s.CheckValid(text)
}

// CheckValid does what Check does for a text that is known to be JSON, and to have no key
// twice.
func (s *Shape) CheckValid(text []byte) error {
	if wrong := (*Error)(nil); errors.As(s.checker().Check(text), &wrong) {
		return wrong
	}
	return nil
}

// syntaxError describes what is wrong with a text that is no JSON.
func syntaxError(text []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := dec.ReadValue(); err != nil {
		return err.Error()
	}
	return "something follows the value"
}

// checker returns the schema that values are held against. It is made once.
func (s *Shape) checker() *jsonschema.Schema {
	if known, ok := s.schema.Load().(*jsonschema.Schema); ok {
		return known
	}
	document := s.Schema()
	for name, to := range s.references(map[string]*Shape{}) {
		at, path := document, strings.Split(strings.TrimPrefix(name, "#/"), "/")
		for _, step := range path[:len(path)-1] {
			next, ok := at[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[step] = next
			}
			at = next
		}
		at[path[len(path)-1]] = to.Schema()
	}
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // a schema is made of texts, numbers and lists of them
	}
	out, err := jsonschema.Parse(text)
	if err != nil {
		panic(err)
	}
	s.schema.Store(out)
	return out
}

// references adds the shapes that a shape refers to, by their names.
func (s *Shape) references(all map[string]*Shape) map[string]*Shape {
	if s.kind == referenceKind {
		if all[s.name] != nil {
			return all
		}
		all[s.name] = s.to
		return s.to.references(all)
	}
	for _, f := range s.fields {
		f.Shape.references(all)
	}
	for _, one := range s.either {
		one.references(all)
	}
	if s.elem != nil {
		s.elem.references(all)
	}
	return all
}

// fits reports whether a value of this kind can have the shape at all.
func (s *Shape) fits(k kind) bool {
	switch s.kind {
	case eitherKind:
		return slices.ContainsFunc(s.either, func(one *Shape) bool { return one.fits(k) })
	case referenceKind:
		return s.to.fits(k)
	}
	return s.kind == k || s.null && k == nullKind || s.kind == anyKind || s.kind == integerKind && k == numberKind
}
