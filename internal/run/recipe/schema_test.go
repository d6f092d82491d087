package recipe

import (
	"slices"
	"strings"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// parseSchema reads a schema by itself.
func parseSchema(data []byte) (*Schema, error) {
	var n mistakeList
	var s *Schema
	if root := n.document(data); root != nil {
		s = n.schema(root, "the schema")
	}
	if err := n.fault(); err != nil {
		return nil, err
	}
	return s, nil
}

func TestSchemaSaysWhere(t *testing.T) {
	const form = `
type: object
properties:
  name: {type: string, minLength: 2, pattern: "^[a-z]+$"}
  kind: {enum: [a, b]}
  size: {type: integer}
  part: {type: number}
  yes: {type: boolean}
  list: {type: array, minItems: 1, items: {type: object, properties: {x: {type: string}}, required: [x], additionalProperties: false}}
  map: {type: object, additionalProperties: {type: integer}}
  "a/b": {type: string}
required: [name]
`
	s := testkit.Must(parseSchema([]byte(form)))(t)
	for _, c := range []struct{ doc, want string }{
		{`{"name":"ab"}`, ""},
		{`{"name":"ab","kind":"a","size":3,"part":1.5,"yes":true,"list":[{"x":"y"}],"map":{"q":1},"other":null}`, ""},
		{`{"name":"ab","part":2,"size":2.0}`, ""},
		{`{}`, "/name: is missing"},
		{`[]`, "the value: must be an object, not an array"},
		{`{"name":1}`, "/name: must be a string, not an integer"},
		{`{"name":null}`, "/name: must be a string, not null"},
		{`{"name":"a"}`, "/name: must have 2 or more characters"},
		{`{"name":"AB"}`, `/name: "AB" does not fit ^[a-z]+$`},
		{`{"name":"ab","kind":"c"}`, `/kind: must be one of a, b, not "c"`},
		{`{"name":"ab","kind":1}`, "/kind: must be one of a, b"},
		{`{"name":"ab","size":1.5}`, "/size: must be an integer, not a number"},
		{`{"name":"ab","part":"1"}`, "/part: must be a number, not a string"},
		{`{"name":"ab","list":[]}`, "/list: must have 1 or more items"},
		{`{"name":"ab","list":[{"x":"y"},{}]}`, "/list/1/x: is missing"},
		{`{"name":"ab","list":[{"x":"y","z":1}]}`, "/list/0/z: no such field here"},
		{`{"name":"ab","map":{"q":"x"}}`, "/map/q: must be an integer"},
		{`{"name":"ab","a/b":1}`, "/a~1b: must be a string"},
		{"```json\n{}\n```", "not JSON"},
		{`{"name":"ab"} and more`, "not JSON: "},
		{`{"name":"ab","name":"cd"}`, "not JSON"},
		{"{\"name\":\"\xff\"}", "not JSON"},
		{``, "not JSON"},
	} {
		err := s.Check([]byte(c.doc))
		if c.want == "" && err != nil || c.want != "" && (!fault.Is(err, fault.OutputInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.doc, err, c.want)
		}
	}
}

// What a run makes may be large: a form says nothing of that.
func TestALargeOutputHasItsForm(t *testing.T) {
	s := testkit.Must(parseSchema([]byte("type: array\nitems: {type: integer}\n")))(t)
	testkit.OK(t, s.Check([]byte("["+strings.Repeat("1,", 1<<20)+"1]")))
}

func TestForms(t *testing.T) {
	want := []string{"findings", "inputs", "json", "markdown", "pr", "text"}
	if got := FormNames(); !slices.Equal(got, want) {
		t.Errorf("forms %v", got)
	}
	hash := strings.Repeat("a", 64)
	for _, c := range []struct{ form, doc, want string }{
		{"json", `[1]`, ""},
		{"json", `nothing`, "not of the form json: not JSON"},
		{"text", "any", ""},
		{"text", "", ""},
		{"text", "\xff", "the text is not UTF-8"},
		{"markdown", "# A\n", ""},
		{"markdown", " \n", "the Markdown is empty"},
		{"markdown", "a\x00", "contains NUL"},
		{"markdown", "```markdown\n# A\n```\n", "wrapped in a code fence"},
		{"markdown", "```go\nx\n```\n", ""},
		{"inputs", `{"inputs":[{"name":"repo","commit":"` + hash[:40] + `"}],"base":"` + hash[:40] + `"}`, ""},
		{"inputs", `{"inputs":[{"name":"repo","commit":"` + hash[:40] + `","url":"x"}],"base":"` + hash[:40] + `"}`, "/inputs/0/url: no such field"},
		{"pr", `{"base_commit":"c","branch":"b","title":"t","affected_paths":[],"rollback":["r"],"bundle":"artifacts/pr/branch.bundle"}`, ""},
		{"pr", `{"base_commit":"c","branch":"b","title":"t","affected_paths":[],"rollback":[]}`, "/rollback: must have 1 or more items"},
		{"none", `{}`, "has no schema"},
	} {
		err := (&Recipe{Name: "r"}).Fits(c.form, []byte(c.doc))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, want %s", c.form, c.doc, err, c.want)
		}
	}
}
