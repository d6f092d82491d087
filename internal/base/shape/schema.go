package shape

import "encoding/json"

// Schema returns the shape as a JSON Schema (draft 2020-12), ready for encoding.
func (s *Shape) Schema() map[string]any {
	out := map[string]any{}
	if s.desc != "" {
		out["description"] = s.desc
	}
	switch s.kind {
	case nullKind:
		out["type"] = "null"
	case stringKind:
		out["type"] = "string"
		if s.enum != nil {
			out["enum"] = s.enum
		}
		if s.expr != "" {
			out["pattern"] = s.expr
		}
		if s.least > 0 {
			out["minLength"] = s.least
		}
		if s.format != "" {
			out["format"] = s.format
		}
		if s.bytes {
			out["contentEncoding"] = "base64"
		}
	case integerKind, numberKind:
		out["type"] = "number"
		if s.kind == integerKind {
			out["type"] = "integer"
		}
		if s.limits {
			out["minimum"], out["maximum"] = s.min, s.max
		}
	case boolKind:
		out["type"] = "boolean"
	case arrayKind:
		out["type"], out["items"] = "array", s.elem.Schema()
		if s.most > 0 {
			out["maxItems"] = s.most
		}
	case referenceKind:
		out["$ref"] = s.name
	case eitherKind:
		var all []any
		for _, one := range s.either {
			all = append(all, one.Schema())
		}
		out["anyOf"] = all
	case objectKind:
		s.objectSchema(out)
	}
	if s.null {
		out["type"] = []any{out["type"], "null"}
	}
	return out
}

func (s *Shape) objectSchema(out map[string]any) {
	out["type"] = "object"
	properties := map[string]any{}
	required := []string{}
	for _, f := range s.fields {
		properties[f.Name] = f.Shape.Schema()
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if s.least > 0 {
		out["minProperties"] = s.least
	}
	switch {
	case !s.open:
		out["additionalProperties"] = false
	case s.elem != nil:
		out["additionalProperties"] = s.elem.Schema()
	}
}

// Brief returns the shape as a JSON Schema for a model. It is sent with every request, so it leaves out what a model
// does not need to call a tool well, and members that are Untold. Check holds all the same. It is made once.
func (s *Shape) Brief() []byte {
	if known, ok := s.told.Load().([]byte); ok {
		return known
	}
	out, err := json.Marshal(s.briefSchema())
	if err != nil {
		panic(err) // a schema is made of texts, numbers and lists of them
	}
	s.told.Store(out)
	return out
}

func (s *Shape) briefSchema() map[string]any {
	out := s.Schema()
	for _, detail := range []string{"additionalProperties", "minLength", "minimum", "maximum"} {
		delete(out, detail)
	}
	switch s.kind {
	case arrayKind:
		items := s.elem.briefSchema()
		delete(items, "required") // a caller that gives an element gives all of it
		out["items"] = items
	case eitherKind:
		var all []any
		for _, one := range s.either {
			all = append(all, one.briefSchema())
		}
		out["anyOf"] = all
	case objectKind:
		properties, _ := out["properties"].(map[string]any)
		for _, f := range s.fields {
			if f.untold {
				delete(properties, f.Name)
			} else {
				properties[f.Name] = f.Shape.briefSchema()
			}
		}
	}
	return out
}

// Untold returns a member of which models are not told: it is accepted, but seldom of use.
func (f Field) Untold() Field {
	f.untold = true
	return f
}
