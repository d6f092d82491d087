package jsonschema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	judge "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

func parse(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// verdict is that of a library of others.
func verdict(t interface{ Fatalf(string, ...any) }, schema, value string) bool {
	doc, err := judge.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	c := judge.NewCompiler()
	c.DefaultDraft(judge.Draft2020)
	if err := c.AddResource("urn:s", doc); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	compiled, err := c.Compile("urn:s")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	v, err := judge.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	return compiled.Validate(v) == nil
}

var schemas = []string{
	`true`, `false`, `{}`, `{"type":"object"}`, `{"type":["string","null"]}`, `{"type":"integer","minimum":1,"maximum":3}`, `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`,
	`{"multipleOf":0.1}`, `{"enum":["a",1,null,{"a":[1.0]}]}`, `{"const":{"a":1}}`, `{"const":2}`, `{"minLength":2,"maxLength":3,"pattern":"^[a-z]+$"}`,
	`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}`,
	`{"properties":{"a":{}},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
	`{"propertyNames":{"maxLength":1},"minProperties":1,"maxProperties":2}`, `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"b":{"required":["x"]}}}`,
	`{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2,"uniqueItems":true}`, `{"prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`,
	`{"contains":{"type":"integer"},"minContains":1,"maxContains":2}`, `{"contains":{"const":"a"},"minContains":0}`,
	`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `{"allOf":[{"required":["a"]},{"required":["b"]}]}`, `{"not":{"type":"string"}}`,
	`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"type":"string"}}`,
	`{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"additionalProperties":false}}}`,
	`{"properties":{"a":{"$ref":"#"}},"required":["a"]}`,
}

var values = []string{`"a"`, `"ab"`, `"abcd"`, `"A"`, `""`, `0`, `1`, `1.0`, `2`, `0.3`, `0.35`, `-1`, `1e2`, `4`, `true`, `false`, `null`, `[]`, `["a"]`, `["a","a"]`, `["a",1]`, `["a",1,2]`,
	`[1,1.0]`, `[1,2,3]`, `{}`, `{"a":1}`, `{"a":"x"}`, `{"a":"x","b":2}`, `{"a":"x","b":2,"c":1}`, `{"b":1}`, `{"b":1,"x":"y"}`, `{"x":1}`, `{"a":{}}`, `{"a":{"a":{}}}`, `{"a":{"a":{"b":1}}}`, `{"a":[1]}`, `{"ab":1}`}

func TestAnotherLibrarySaysTheSame(t *testing.T) {
	for _, schema := range schemas {
		s := parse(t, schema)
		for _, value := range values {
			got := s.Check([]byte(value))
			if want := verdict(t, schema, value); (got == nil) != want {
				t.Errorf("%s of %s: %v, another library says %v", value, schema, got, want)
			}
		}
	}
}

func TestSchemasWithinSchemasSayTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inner := rapid.SampledFrom(schemas).Filter(func(s string) bool { return !strings.Contains(s, "$ref") })
		a, b := inner.Draw(t, "a"), inner.Draw(t, "b")
		schema := strings.NewReplacer("A", a, "B", b).Replace(rapid.SampledFrom([]string{
			`{"anyOf":[A,B]}`, `{"oneOf":[A,B]}`, `{"allOf":[A,B]}`, `{"not":A}`, `{"if":A,"then":B}`, `{"items":A}`, `{"additionalProperties":A}`,
			`{"properties":{"a":A,"b":B}}`, `{"properties":{"a":{"$ref":"#/$defs/d"}},"$defs":{"d":A}}`, `{"contains":A,"items":B}`,
		}).Draw(t, "around"))
		value := rapid.SampledFrom(values).Draw(t, "value")
		if rapid.Bool().Draw(t, "list") {
			value = "[" + value + "," + rapid.SampledFrom(values).Draw(t, "other") + "]"
		}
		s, err := Parse([]byte(schema))
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		if got, want := s.Check([]byte(value)), verdict(t, schema, value); (got == nil) != want {
			t.Fatalf("%s of %s: %v, another library says %v", value, schema, got, want)
		}
	})
}

func TestWhatCannotBeUsedIsRefused(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 80) + "{}" + strings.Repeat("}", 80)
	for _, c := range []struct{ schema, want string }{
		{`[]`, "a schema is an object"}, {`{`, "not JSON"}, {`{} {}`, "not JSON"}, {`{"type":"strnig"}`, "/type"}, {`{"properties":{"a":3}}`, "/properties/a"},
		{`{"$ref":"https://example.org/x"}`, "within the schema"}, {`{"$ref":"#/$defs/none"}`, "leads nowhere"}, {`{"unevaluatedProperties":false}`, "not understood"},
		{`{"pattern":"(?=x)"}`, "RE2"}, {`{"minLength":-1}`, "makes sense"}, {`{"multipleOf":0}`, "makes sense"}, {`{"required":"a"}`, "list of strings"}, {deep, "deep"},
		{`{"description":"` + strings.Repeat("x", maxSize) + `"}`, "more than"},
	} {
		_, err := Parse([]byte(c.schema))
		if !fault.Is(err, fault.InvalidText) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v", c.schema, err)
		}
	}
}

// A reference may lead to a place that holds no schema for any other keyword.
func TestWhatAReferenceLeadsToIsRead(t *testing.T) {
	if s := parse(t, `{"$ref":"#/x","x":{"pattern":"a","items":{"$ref":"#/x"}}}`); s.Check([]byte(`"b"`)) == nil || s.Check([]byte(`["a"]`)) != nil {
		t.Error("the pattern is not checked")
	}
	if _, err := Parse([]byte(`{"$ref":"#/x","x":{"pattern":"("}}`)); !fault.Is(err, fault.InvalidText) {
		t.Error(err)
	}
}

func TestAMismatchSaysWhere(t *testing.T) {
	s := parse(t, `{"type":"object","properties":{"list":{"items":{"required":["a/b"]}}}}`)
	if err := s.Check([]byte(`{"list":[{"a/b":1},{}]}`)); err == nil || err.Error() != "/list/1/a~1b: is missing" {
		t.Error(err)
	}
	if err := s.Check([]byte("```json\n{}\n```")); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Error(err)
	}
}

// Schemas that lead on for ever, and numbers that would fill the memory.
func TestEveryCheckEnds(t *testing.T) {
	value := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for _, schema := range []string{`{"$ref":"#"}`, `{"anyOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"$ref":"#"}}}`,
		`{"oneOf":[{"type":"object","properties":{"a":{"$ref":"#"}}},{"type":"object","properties":{"a":{"$ref":"#"}}}]}`, `{"not":{"$ref":"#"}}`} {
		if err := parse(t, schema).Check([]byte(value)); err == nil {
			t.Errorf("%s: it fits", schema)
		}
	}
	for _, n := range []string{"1e999999999", "1e-999999999", "9" + strings.Repeat("0", 300)} {
		parse(t, `{"multipleOf":3,"enum":[1e5]}`).Check([]byte(n))
	}
}

func TestSchemasInDialects(t *testing.T) {
	const person = `{"$schema":"x","type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0}},"required":["name"]}`
	for _, c := range []struct {
		schema string
		in     Dialect
		want   string
	}{
		{person, Anthropic, `{"additionalProperties":false,"properties":{"age":{"type":"integer"},"name":{"type":"string"}},"required":["name"],"type":"object"}`},
		{person, Gemini, `{"properties":{"age":{"minimum":0,"type":"integer"},"name":{"type":"string"}},"required":["name"],"type":"object"}`},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, Anthropic, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{`{"type":"array","items":{"type":"string"},"minItems":2}`, Anthropic, `{"items":{"type":"string"},"type":"array"}`},
		{`{"type":"array","items":{"type":"string"}}`, OpenAI, ``}, // no object
		{`{"type":"object"}`, Anthropic, ``},                                          // nothing would be left
		{`{"type":"object","additionalProperties":{"type":"string"}}`, Anthropic, ``}, // nor here
		{`{"type":"object","additionalProperties":{"type":"string"}}`, Gemini, `{"additionalProperties":{"type":"string"},"type":"object"}`},
		{`{"type":"object","properties":{"a":{"$ref":"#"}}}`, Anthropic, ``}, // it leads to itself
		{`{"type":"object","properties":{"a":true}}`, Gemini, ``},
	} {
		got, ok := parse(t, c.schema).Reduce(c.in)
		if ok != (c.want != "") || ok && string(got) != c.want {
			t.Errorf("%s: %s %v", c.schema, got, ok)
		}
	}
	for schema, want := range map[string]bool{
		person: false, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`:                             false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:                  false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false,"$schema":"x"}`: true,
		`{"type":"string"}`: false,
	} {
		if got := parse(t, schema).Strict(); got != want {
			t.Errorf("%s: strict %v", schema, got)
		}
	}
}

func FuzzParseAndCheck(f *testing.F) {
	for _, s := range schemas {
		f.Add([]byte(s), []byte(`{"a":1}`))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Parse(schema)
		if err != nil {
			return
		}
		s.Check(value)
		for _, d := range []Dialect{Anthropic, Gemini, OpenAI} {
			if less, ok := s.Reduce(d); ok && !json.Valid(less) {
				t.Errorf("%s becomes %s", schema, less)
			}
		}
		if !json.Valid(s.Text()) || bytes.ContainsAny(s.Text(), "\n") {
			t.Errorf("text %q", s.Text())
		}
	})
}

// Who has to mend a value is told all that is wrong with it.
func TestAllMismatchesAreTold(t *testing.T) {
	s := testkit.Must(Parse([]byte(`{"type":"object","required":["risk","summary","files"],"additionalProperties":false,
		"properties":{"risk":{"enum":["low","high"]},"summary":{"type":"string","minLength":3},"files":{"type":"array","items":{"type":"string"}}}}`)))(t)
	err := s.Check([]byte(`{"risk":"none","files":[1,"a",2],"more":true}`))
	want := `/summary: is missing; /files/0: must be a string, not an integer; /files/2: must be a string, not an integer; /more: no such field here; /risk: must be one of low, high, not "none"`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	// What fits one of several is no mismatch for not fitting the others.
	s = testkit.Must(Parse([]byte(`{"anyOf":[{"type":"string"},{"type":"object","required":["a","b"]}]}`)))(t)
	testkit.OK(t, s.Check([]byte(`{"a":1,"b":2}`)))
}
