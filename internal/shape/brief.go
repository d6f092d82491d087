package shape

import "encoding/json"

// Brief is the shape as a JSON Schema for a model: with every request it is sent again, so
// it leaves out what a model does not need to call a tool well, and members that are Untold.
// Check holds all the same.
func (s *Shape) Brief() map[string]any {
	out := s.Schema()
	for _, detail := range []string{"additionalProperties", "minLength", "minimum", "maximum"} {
		delete(out, detail)
	}
	switch s.kind {
	case arrayKind:
		items := s.elem.Brief()
		delete(items, "required") // who gives a member of a list gives it whole
		out["items"] = items
	case eitherKind:
		var all []any
		for _, one := range s.either {
			all = append(all, one.Brief())
		}
		out["anyOf"] = all
	case objectKind:
		properties, _ := out["properties"].(map[string]any)
		for _, f := range s.fields {
			if f.untold {
				delete(properties, f.Name)
			} else {
				properties[f.Name] = f.Shape.Brief()
			}
		}
	}
	return out
}

// BriefText is Brief as JSON. It is made once: models are told of tools with every turn, and shapes do
// not change.
func (s *Shape) BriefText() ([]byte, error) {
	if known, ok := s.told.Load().([]byte); ok {
		return known, nil
	}
	text, err := json.Marshal(s.Brief())
	if err == nil {
		s.told.Store(text)
	}
	return text, err
}

// Untold is a member of which models are not told: it is taken, but seldom of use.
func (f Field) Untold() Field {
	f.untold = true
	return f
}
