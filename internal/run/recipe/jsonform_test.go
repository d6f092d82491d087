package recipe

import (
	"testing"

	"ramet/internal/jsonschema"
)

// A form and its JSON Schema say the same of every value.
func TestAFormAndItsJSONSchemaSayTheSame(t *testing.T) {
	forms := map[string]*Schema{"json": {}, "list": {Type: "array", MinItems: 1, Items: &Schema{Type: "string", MinLength: 2}},
		"object": {Type: "object", Properties: map[string]*Schema{"a": {Type: "string", Enum: []string{"x", "yy"}}}, Required: []string{"a"}, Closed: true},
		"map":    {Type: "object", Values: &Schema{Type: "integer"}}}
	for _, name := range Forms() {
		if s, _ := Form(name); s.JSON() != nil {
			forms[name] = s
		}
	}
	values := []string{`{}`, `[]`, `"x"`, `1`, `null`, `["aa"]`, `["a"]`, `{"a":"x"}`, `{"a":"x","b":1}`, `{"a":1}`, `{"a":"z"}`, `{"n":1}`, `{"n":1.5}`}
	for name, form := range forms {
		schema, err := jsonschema.Parse(form.JSON())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, value := range values {
			if ours, theirs := form.Check([]byte(value)), schema.Check([]byte(value)); (ours == nil) != (theirs == nil) {
				t.Errorf("%s of %s: %v, as a schema %v", value, name, ours, theirs)
			}
		}
	}
	if s, _ := Form("markdown"); s.JSON() != nil {
		t.Error("Markdown has a JSON Schema")
	}
}
