package jsonschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Dialect describes the schemas that a vendor's own feature for structured answers accepts.
type Dialect struct {
	Keywords string // that it knows, with spaces; all others are left out
	Closed   bool   // it wants additionalProperties to be false in every object
	Object   bool   // the whole must be an object
	Finite   bool   // a schema may not refer to itself
}

// The dialects, as the vendors' documents describe them.
var (
	// platform.claude.com/docs/en/build-with-claude/structured-outputs
	Anthropic = Dialect{Keywords: "type enum const properties required additionalProperties items anyOf allOf $ref $defs definitions description title", Closed: true, Finite: true}
	// ai.google.dev/gemini-api/docs/structured-output
	Gemini = Dialect{Keywords: "type enum properties required additionalProperties items prefixItems minItems maxItems minimum maximum anyOf oneOf $ref $defs format description title"}
	// platform.openai.com/docs/guides/structured-outputs
	OpenAI = Dialect{Keywords: "type enum const properties required additionalProperties items anyOf $ref $defs definitions description title pattern format " +
		"multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems", Closed: true, Object: true}
)

// Reduce returns the schema in a dialect; ok is false where what is left would forbid
// something that the whole allows, or where the dialect has no such schemas.
func (s *Schema) Reduce(d Dialect) (_ json.RawMessage, ok bool) {
	m, isObject := s.root.(map[string]any)
	if !isObject || d.Object && m["type"] != "object" || d.Finite && s.endless() {
		return nil, false
	}
	says := func(key string) bool { return m[key] != nil }
	if !slices.ContainsFunc([]string{"type", "enum", "const", "anyOf", "oneOf", "$ref"}, says) {
		return nil, false // it may be anything
	}
	r := reducer{Dialect: d, known: wordSet(d.Keywords)}
	out := r.reduce(m)
	if r.lost {
		return nil, false
	}
	b, err := json.Marshal(out)
	return b, err == nil
}

// Object reports whether what fits is always an object.
func (s *Schema) Object() bool {
	m, ok := s.root.(map[string]any)
	return ok && m["type"] == "object"
}

// Strict reports whether OpenAI can hold answers to the whole schema: every object is
// closed, all of its members are required, and no keyword is unknown there.
func (s *Schema) Strict() bool { return s.Object() && isStrict(s.root) }

func isStrict(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	known := wordSet(OpenAI.Keywords + " $schema $id default examples")
	properties, _ := m["properties"].(map[string]any)
	required, _ := m["required"].([]any)
	_, hasProperties := m["properties"]
	if m["type"] == "object" || hasProperties {
		if m["additionalProperties"] != false || len(required) != len(properties) {
			return false
		}
	}
	for key := range m {
		if !known[key] {
			return false
		}
	}
	for _, inner := range within(m) {
		if rest, isRest := inner.(bool); !isStrict(inner) && !(isRest && !rest) { // additionalProperties: false
			return false
		}
	}
	return true
}

type reducer struct {
	Dialect
	known map[string]bool
	lost  bool // what is left is another schema
}

func (r *reducer) reduce(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		r.lost = true // true or false for a schema: no dialect has it
		return v
	}
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		inner := m[key]
		to := key
		if key == "oneOf" && !r.known[key] && r.known["anyOf"] && m["anyOf"] == nil {
			to = "anyOf" // looser, and checked afterwards
		}
		switch {
		case !r.known[to] || key == "additionalProperties":
		case one[key]:
			out[to] = r.reduce(inner)
		case lists[key]:
			var list []any
			for _, one := range inner.([]any) {
				list = append(list, r.reduce(one))
			}
			out[to] = list
		case named[key]:
			members := map[string]any{}
			for name, one := range inner.(map[string]any) {
				members[name] = r.reduce(one)
			}
			out[to] = members
		default:
			out[to] = inner
		}
	}
	r.object(m, out)
	return out
}

// object settles what else an object may hold. One that may hold anything cannot be
// closed: nothing would be left of it.
func (r *reducer) object(m, out map[string]any) {
	kind, _ := m["type"].(string)
	properties, _ := m["properties"].(map[string]any)
	rest, told := m["additionalProperties"]
	if kind != "object" && properties == nil && !told {
		return
	}
	_, schema := rest.(map[string]any)
	switch {
	case r.Closed && (len(properties) == 0 && rest != false || schema):
		r.lost = true
	case r.Closed:
		out["additionalProperties"] = false
	case schema:
		out["additionalProperties"] = r.reduce(rest)
	case told:
		out["additionalProperties"] = rest
	}
}

// endless reports whether a schema leads to itself.
func (s *Schema) endless() bool {
	var walk func(v any, open []string, depth int) bool
	walk = func(v any, open []string, depth int) bool {
		if depth > 2*maxDepth {
			return true
		}
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				if walk(one, open, depth+1) {
					return true
				}
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				target, _ := s.find(ref)
				if slices.Contains(open, ref) || walk(target, append(open[:len(open):len(open)], ref), depth+1) {
					return true
				}
			}
			for key, one := range v {
				if key != "$defs" && key != "definitions" && key != "enum" && key != "const" && !strings.HasPrefix(key, "$ref") && walk(one, open, depth+1) {
					return true
				}
			}
		}
		return false
	}
	return walk(s.root, []string{"#"}, 0)
}
