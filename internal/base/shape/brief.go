package shape

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Brief is the shape as a JSON Schema for a model: with every request it is sent again, so
// it leaves out what a model does not need to call a tool well, and members that are Untold.
// Check holds all the same. It is made once, and written at once: the first turn of a process waits for it.
func (s *Shape) Brief() []byte {
	if known, ok := s.told.Load().([]byte); ok {
		return known
	}
	out := s.appendBrief(nil, true)
	s.told.Store(out)
	return out
}

// appendBrief appends Brief, with the members in the order of their names.
func (s *Shape) appendBrief(b []byte, required bool) []byte {
	start := len(b)
	name := func(name string) { b = append(append(append(b, ",\""...), name...), "\":"...) }
	text := func(key, value string) {
		if value != "" {
			name(key)
			b = appendText(b, value)
		}
	}
	number := func(key string, value int) {
		if value > 0 {
			name(key)
			b = strconv.AppendInt(b, int64(value), 10)
		}
	}
	words := func(key string, all []string) {
		name(key)
		b = append(b, '[')
		for i, one := range all {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, one)
		}
		b = append(b, ']')
	}
	if s.kind == referenceKind {
		name("$ref")
		b = appendText(b, s.name)
	}
	if s.kind == eitherKind {
		name("anyOf")
		b = s.appendEither(b)
	}
	if s.kind == stringKind && s.bytes {
		text("contentEncoding", "base64")
	}
	text("description", s.desc)
	if s.kind == stringKind {
		if s.enum != nil {
			words("enum", s.enum)
		}
		text("format", s.format)
	}
	if s.kind == arrayKind {
		name("items")
		b = s.elem.appendBrief(b, false) // who gives a member of a list gives it whole
		number("maxItems", s.most)
	}
	if s.kind == objectKind {
		number("minProperties", s.least)
	}
	if s.kind == stringKind && s.match != nil {
		name("pattern")
		b = appendText(b, s.expr)
	}
	if s.kind == objectKind && len(s.fields) > 0 {
		name("properties")
		b = s.appendFields(b)
		if need := s.needed(); required && len(need) > 0 {
			words("required", need)
		}
	}
	if s.kind != referenceKind && s.kind != eitherKind && s.kind != anyKind || s.null {
		name("type")
		b = s.appendType(b)
	}
	if len(b) == start {
		return append(b, "{}"...)
	}
	b[start] = '{' // it was the first comma
	return append(b, '}')
}

func (s *Shape) appendEither(b []byte) []byte {
	if len(s.either) == 0 {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, one := range s.either {
		if i > 0 {
			b = append(b, ',')
		}
		b = one.appendBrief(b, true)
	}
	return append(b, ']')
}

// appendFields appends the members that are told of, by their names; of two of one name the later counts.
func (s *Shape) appendFields(b []byte) []byte {
	fields := make(map[string]*Shape, len(s.fields))
	for _, f := range s.fields {
		if fields[f.Name] = f.Shape; f.untold {
			delete(fields, f.Name)
		}
	}
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fields[name].appendBrief(append(appendText(b, name), ':'), true)
	}
	return append(b, '}')
}

// needed are the members that must be there.
func (s *Shape) needed() []string {
	out := make([]string, 0, len(s.fields))
	for _, f := range s.fields {
		if !f.Optional {
			out = append(out, f.Name)
		}
	}
	return out
}

func (s *Shape) appendType(b []byte) []byte {
	word := "null"
	switch s.kind {
	case nullKind:
		word = `"null"`
	case stringKind:
		word = `"string"`
	case integerKind:
		word = `"integer"`
	case numberKind:
		word = `"number"`
	case boolKind:
		word = `"boolean"`
	case arrayKind:
		word = `"array"`
	case objectKind:
		word = `"object"`
	}
	if s.null {
		return append(append(append(b, '['), word...), `,"null"]`...)
	}
	return append(b, word...)
}

// appendText appends a string as encoding/json writes it, which escapes what HTML could take for its own.
func appendText(b []byte, s string) []byte {
	if !strings.ContainsAny(s, "<>&\u2028\u2029") {
		if out, err := jsontext.AppendQuote(b, s); err == nil {
			return out
		}
	}
	quoted, _ := json.Marshal(s) // a string always can
	return append(b, quoted...)
}

// Untold is a member of which models are not told: it is taken, but seldom of use.
func (f Field) Untold() Field {
	f.untold = true
	return f
}
