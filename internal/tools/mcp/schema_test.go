package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSchemasBecomeOnesThatEveryVendorTakes(t *testing.T) {
	for _, c := range []struct{ in, want, note string }{
		{`true`, `{"type":"object"}`, "no object"},
		{`null`, `{"type":"object"}`, ""},
		{`[]`, `{"type":"object"}`, "no object"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`, ""},
		{`{"properties":{"a":{"$ref":"#/$defs/A","description":"d"}},"$defs":{"A":{"type":"integer"}},"$schema":"x"}`, `{"properties":{"a":{"description":"d","type":"integer"}},"type":"object"}`, ""},
		{`{"properties":{"a":{"$ref":"#/definitions/A~1b"}},"definitions":{"A/b":{"$ref":"#/definitions/C"},"C":{"enum":[1]}}}`, `{"properties":{"a":{"enum":[1]}},"type":"object"}`, ""},
		{`{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}}`, `{"properties":{"n":{"properties":{"next":{}},"type":"object"}},"type":"object"}`, "refers to itself"},
		{`{"properties":{"n":{"$ref":"https://example.com/x.json"}}}`, `{"properties":{"n":{}},"type":"object"}`, "not in it"},
		{`{"type":"string","properties":3}`, `{"type":"object"}`, ""},
	} {
		var given any
		if err := json.Unmarshal([]byte(c.in), &given); err != nil {
			t.Fatal(err)
		}
		got, note, err := schemaOf(given)
		if err != nil || string(got) != c.want || (c.note == "") != (note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s: %s (%q, %v)", c.in, got, note, err)
		}
	}
}

func TestSchemasAreBounded(t *testing.T) {
	long := map[string]any{"description": strings.Repeat("x", mostSchema)}
	if _, _, err := schemaOf(long); err == nil {
		t.Error("a long one is taken")
	}
	// Each level names the next twice: small, and huge when put in place.
	defs := map[string]any{}
	for i := range 30 {
		next := map[string]any{"$ref": "#/$defs/d" + string(rune('A'+i+1))}
		defs["d"+string(rune('A'+i))] = map[string]any{"properties": map[string]any{"l": next, "r": next}}
	}
	bomb := map[string]any{"$defs": defs, "properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/dA"}}}
	if _, _, err := schemaOf(bomb); err == nil {
		t.Error("a bomb is taken")
	}
}
