// Package jsonschema reads JSON Schemas that others wrote (draft 2020-12) and holds
// values against them. The schemas that ramet publishes are made by package shape.
//
// It promises:
//
//   - Parse refuses what Check could not hold a value against: a keyword that is not
//     known here and would forbid something, a reference that leads out of the
//     schema, a pattern that is no RE2. Words that only describe are passed over.
//   - Check says the same as any other implementation of the draft, for the keywords
//     that Parse takes; format is a description.
//   - Neither reads a file or the network, and both end, whatever they are given.
//   - Reduce leaves a schema with no keyword but those that a vendor knows. What fits
//     it may not fit the whole: who uses it checks afterwards.
package jsonschema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Schema is one that was read.
type Schema struct {
	text     json.RawMessage
	root     any // a map or a bool
	patterns map[string]*regexp.Regexp
	refs     map[string]bool // references, and whether what they lead to was read
}

// maxSize and maxDepth bound what is read: a schema goes along with every request.
const (
	maxSize  = 256 << 10
	maxDepth = 64
)

// Parse reads a schema. INVALID_TEXT says where it cannot be used, and why.
func Parse(schema []byte) (*Schema, error) {
	if len(schema) > maxSize {
		return nil, refuseAt("", "it has more than %d bytes", maxSize)
	}
	root, err := decodeValue(schema)
	if err != nil {
		return nil, refuseAt("", "it is not JSON: %s", text.Line(err.Error(), 200))
	}
	s := &Schema{root: root, patterns: map[string]*regexp.Regexp{}, refs: map[string]bool{}}
	if err := s.read(root, "", 0); err != nil {
		return nil, err
	}
	for more := true; more; { // a reference may lead to a place that holds no schema otherwise
		more = false
		for ref, known := range s.refs {
			if target, _ := s.find(ref); !known {
				s.refs[ref], more = true, true
				if err := s.read(target, strings.TrimPrefix(ref, "#"), 0); err != nil {
					return nil, err
				}
			}
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, schema); err != nil {
		return nil, refuseAt("", "it is not JSON: %s", text.Line(err.Error(), 200))
	}
	s.text = compact.Bytes()
	return s, nil
}

// Text returns the schema as JSON without spaces.
func (s *Schema) Text() json.RawMessage { return s.text }

// Ask returns how a model is asked for an answer that fits.
func (s *Schema) Ask() string {
	return "When you are done, answer with JSON alone, without a code fence or words around it, that fits this JSON Schema:\n" + string(s.text)
}

func refuseAt(at, format string, args ...any) error {
	at = cmp.Or(at, "its root")
	return fault.New(fault.InvalidText, "the schema cannot be used: %s: %s", text.Safe(at), fmt.Sprintf(format, args...)).
		WithHint("it is a JSON Schema of draft 2020-12 that needs no other file")
}

// decodeValue reads one JSON value; numbers stay as they are written.
func decodeValue(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("something follows the value")
	}
	if _, err := d.Token(); err == nil {
		return nil, fmt.Errorf("something follows the value")
	}
	return v, nil
}

// The keywords, by what is in them: a schema, a list of schemas, schemas by name, or something else. The last ones would
// forbid something, and are not understood.
var (
	one    = wordSet("additionalProperties items contains not if then else propertyNames")
	lists  = wordSet("anyOf oneOf allOf prefixItems")
	named  = wordSet("properties patternProperties $defs definitions dependentSchemas")
	counts = wordSet("minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties")
	plain  = wordSet("type enum const required minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
		"minItems maxItems uniqueItems minContains maxContains minProperties maxProperties dependentRequired $ref")
	others = wordSet("unevaluatedProperties unevaluatedItems $dynamicRef $dynamicAnchor $recursiveRef additionalItems dependencies $anchor")
	types  = wordSet("object array string number integer boolean null")
)

func wordSet(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// read looks at a schema and those within it.
func (s *Schema) read(v any, at string, depth int) error {
	if _, always := v.(bool); always {
		return nil
	}
	m, ok := v.(map[string]any)
	switch {
	case !ok:
		return refuseAt(at, "a schema is an object, true or false")
	case depth > maxDepth:
		return refuseAt(at, "it is more than %d deep", maxDepth)
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		here := at + "/" + Escape(key)
		list, isList := m[key].([]any)
		members, isObject := m[key].(map[string]any)
		var err error
		switch {
		case others[key]:
			err = refuseAt(here, "this keyword is not understood here")
		case lists[key] && (!isList || len(list) == 0):
			err = refuseAt(here, "it must be a list of schemas")
		case named[key] && !isObject:
			err = refuseAt(here, "it must be an object of schemas")
		case key == "patternProperties":
			for _, name := range slices.Sorted(maps.Keys(members)) {
				err = cmp.Or(err, s.compile(name, here+"/"+Escape(name)))
			}
		case plain[key]:
			err = s.readPlain(key, m[key], here)
		}
		if err != nil {
			return err
		}
	}
	for place, inner := range within(m) {
		if err := s.read(inner, at+place, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// within yields the schemas that are directly in a schema, with their places in it.
func within(m map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			here := "/" + Escape(key)
			if one[key] && !yield(here, m[key]) {
				return
			}
			if list, ok := m[key].([]any); ok && lists[key] {
				for i, inner := range list {
					if !yield(fmt.Sprintf("%s/%d", here, i), inner) {
						return
					}
				}
			}
			if members, ok := m[key].(map[string]any); ok && named[key] {
				for _, name := range slices.Sorted(maps.Keys(members)) {
					if !yield(here+"/"+Escape(name), members[name]) {
						return
					}
				}
			}
		}
	}
}

func (s *Schema) readPlain(key string, v any, at string) error {
	switch key {
	case "type":
		list, many := v.([]any)
		if !many {
			list = []any{v}
		}
		for _, one := range list {
			if name, ok := one.(string); !ok || !types[name] {
				return refuseAt(at, "%.60s is not a type", fmt.Sprintf("%q", one))
			}
		}
	case "enum":
		if _, ok := v.([]any); !ok {
			return refuseAt(at, "it must be a list")
		}
	case "required":
		return checkStrings(v, at)
	case "dependentRequired":
		m, ok := v.(map[string]any)
		if !ok {
			return refuseAt(at, "it must be an object of lists")
		}
		for name, list := range m {
			if err := checkStrings(list, at+"/"+Escape(name)); err != nil {
				return err
			}
		}
	case "pattern":
		expr, ok := v.(string)
		if !ok {
			return refuseAt(at, "it must be a string")
		}
		return s.compile(expr, at)
	case "uniqueItems":
		if _, ok := v.(bool); !ok {
			return refuseAt(at, "it must be true or false")
		}
	case "$ref":
		ref, ok := v.(string)
		if !ok || !strings.HasPrefix(ref, "#") {
			return refuseAt(at, "a reference must begin with #, within the schema")
		}
		if _, ok := s.find(ref); !ok {
			return refuseAt(at, "%.80q leads nowhere", ref)
		}
		if _, known := s.refs[ref]; !known {
			s.refs[ref] = false // what it leads to is read last
		}
	case "const":
	default: // numbers
		if n, ok := v.(json.Number); !ok || !isFinite(n) || counts[key] && (toDouble(n) < 0 || !isWhole(n)) || key == "multipleOf" && toDouble(n) <= 0 {
			return refuseAt(at, "it must be a number that makes sense here")
		}
	}
	return nil
}

func checkStrings(v any, at string) error {
	list, ok := v.([]any)
	if !ok {
		return refuseAt(at, "it must be a list of strings")
	}
	for _, one := range list {
		if _, ok := one.(string); !ok {
			return refuseAt(at, "it must be a list of strings")
		}
	}
	return nil
}

func (s *Schema) compile(expr, at string) error {
	if s.patterns[expr] != nil {
		return nil
	}
	match, err := regexp.Compile(expr)
	if err != nil {
		return refuseAt(at, "%s: the syntax is that of RE2", text.Line(err.Error(), 200))
	}
	s.patterns[expr] = match
	return nil
}

// find returns the schema that a reference names.
func (s *Schema) find(ref string) (any, bool) { return Find(s.root, ref) }

// Find returns the schema in a document that a reference names.
func Find(root any, ref string) (any, bool) {
	at := root
	path := strings.TrimPrefix(ref, "#")
	if path == "" {
		return at, true
	}
	if !strings.HasPrefix(path, "/") {
		return nil, false
	}
	for _, step := range strings.Split(path[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%22", `"`).Replace(step)
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[step]; !ok {
			return nil, false
		}
	}
	switch at.(type) {
	case map[string]any, bool:
		return at, true
	}
	return nil, false
}
