package shape

import "encoding/json"

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
