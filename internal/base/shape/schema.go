package shape

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
		if s.match != nil {
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
