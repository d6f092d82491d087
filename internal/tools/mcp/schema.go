package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/jsonschema"
)

// mostDepth limits how deep a schema may be nested, references followed.
const mostDepth = 40

// schemaOf makes a schema one that every vendor takes: an object that says so, with its
// references put in place. What cannot be referred to, and what refers to itself, becomes
// anything, and the note says so. One that is too long is refused.
func schemaOf(given any) (schema json.RawMessage, note string, err error) {
	top, ok := given.(map[string]any)
	if !ok {
		if given != nil {
			note = "its schema is not an object, so it takes any arguments"
		}
		return json.RawMessage(`{"type":"object"}`), note, nil
	}
	if raw, err := json.Marshal(top); err != nil || len(raw) > mostSchema {
		return nil, "", fmt.Errorf("its schema has %d bytes, more than %d", len(raw), mostSchema)
	}
	r := resolver{root: top, left: mostSchema}
	out, _ := r.value(top, nil, 0).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	delete(out, "$defs")
	delete(out, "definitions")
	delete(out, "$schema")
	delete(out, "$id")
	out["type"] = "object"
	if _, ok := out["properties"].(map[string]any); !ok {
		delete(out, "properties")
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return nil, "", err
	}
	if r.left < 0 || len(raw) > mostSchema {
		return nil, "", fmt.Errorf("its schema has more than %d bytes with its references in place", mostSchema)
	}
	return raw, strings.Join(slices.Sorted(maps.Keys(r.notes)), "; "), nil
}

// resolver puts references in place.
type resolver struct {
	root  map[string]any
	left  int // bytes that may still be put in place, about
	notes map[string]bool
}

func (r *resolver) note(what string) {
	if r.notes == nil {
		r.notes = map[string]bool{}
	}
	r.notes[what] = true
}

func (r *resolver) value(v any, on []string, depth int) any {
	if depth > mostDepth {
		r.note("its schema is nested too deep, and cut there")
		return map[string]any{}
	}
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			return r.reference(v, ref, on, depth)
		}
		out := make(map[string]any, len(v))
		for key, one := range v {
			if depth == 0 && (key == "$defs" || key == "definitions") {
				continue
			}
			r.left -= len(key) + 4
			if r.left < 0 {
				return map[string]any{}
			}
			out[key] = r.value(one, on, depth+1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = r.value(one, on, depth+1)
		}
		return out
	case string:
		r.left -= len(v)
	}
	return v
}

// reference returns what a $ref stands for, with what stands beside it.
func (r *resolver) reference(v map[string]any, ref string, on []string, depth int) any {
	beside := maps.Clone(v)
	delete(beside, "$ref")
	target, ok := jsonschema.Find(r.root, ref)
	switch {
	case !ok:
		r.note("its schema refers to " + fmt.Sprintf("%.80q", ref) + ", which is not in it: anything is taken there")
		target = map[string]any{}
	case slices.Contains(on, ref):
		r.note("its schema refers to itself: anything is taken there")
		target = map[string]any{}
	}
	out, isObject := r.value(target, append(slices.Clip(on), ref), depth+1).(map[string]any)
	if !isObject {
		return map[string]any{}
	}
	for key, one := range beside {
		out[key] = r.value(one, on, depth+1)
	}
	return out
}
