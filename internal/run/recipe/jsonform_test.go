package recipe

import (
	"testing"

	"ramet/internal/base/jsonschema"
)

// Every form that has a JSON Schema has one that anybody can read.
func TestFormsHaveJSONSchemas(t *testing.T) {
	n := 0
	for _, name := range FormNames() {
		s, _ := FindForm(name)
		if s.JSON() == nil {
			continue
		}
		n++
		if _, err := jsonschema.Parse(s.JSON()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n != len(FormNames())-2 { // but for markdown and text
		t.Errorf("%d of %d forms", n, len(FormNames()))
	}
	s, err := parseSchema([]byte("type: object\nproperties: {a: {enum: [x], minLength: 1}}\nadditionalProperties: false\n"))
	if want := `{"additionalProperties":false,"properties":{"a":{"enum":["x"],"minLength":1}},"type":"object"}`; err != nil || string(s.JSON()) != want {
		t.Errorf("%v: %s, want %s", err, s.JSON(), want)
	}
}
