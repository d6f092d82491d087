package recipe

import "encoding/json"

// JSON is the form as a JSON Schema; nil where it is none of JSON.
func (s *Schema) JSON() json.RawMessage {
	switch {
	case s.Format != "" && s.Format != "json":
		return nil
	case s.form == nil:
		return json.RawMessage("{}")
	}
	return s.form.Text()
}
