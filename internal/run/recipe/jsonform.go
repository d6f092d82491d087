package recipe

import "encoding/json"

// JSON is the form as a JSON Schema; nil where it is none of JSON.
func (s *Schema) JSON() json.RawMessage {
	if s.Format != "" && s.Format != "json" {
		return nil
	}
	b, err := json.Marshal(s.object())
	if err != nil {
		return nil // there is nothing in it that could fail
	}
	return b
}

func (s *Schema) object() map[string]any {
	out := map[string]any{}
	set := func(key string, value any, there bool) {
		if there {
			out[key] = value
		}
	}
	set("type", s.Type, s.Type != "")
	set("required", s.Required, len(s.Required) > 0)
	set("enum", s.Enum, len(s.Enum) > 0)
	set("minItems", s.MinItems, s.MinItems > 0)
	set("minLength", s.MinLength, s.MinLength > 0)
	set("pattern", s.Pattern, s.Pattern != "")
	set("additionalProperties", false, s.Closed)
	if s.Values != nil {
		out["additionalProperties"] = s.Values.object()
	}
	if s.Items != nil {
		out["items"] = s.Items.object()
	}
	if s.Properties != nil {
		members := map[string]any{}
		for name, one := range s.Properties {
			members[name] = one.object()
		}
		out["properties"] = members
	}
	return out
}
