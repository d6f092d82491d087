package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"ramet/internal/testkit"
)

// published is the schema of page, as a library of others understands it.
var published = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := json.Marshal(page.Schema())
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("urn:page", doc); err != nil {
		return nil, err
	}
	return c.Compile("urn:page")
})

type reporter interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}

// sameVerdict asks both. What is no JSON here is not asked about there, and
// numbers are rounded to doubles first.
func sameVerdict(t reporter, text []byte) {
	schema := testkit.Must(published())(t)
	ours := page.Check(text)
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(); err != nil {
		if ours == nil {
			t.Errorf("%s: %v, and it has the shape", text, err)
		}
		return
	}
	if !bytes.Equal(v, text) && page.Check(v) != nil != (ours != nil) {
		if !beyond(ours) {
			t.Errorf("%s: %v, in canonical form: %v", text, ours, page.Check(v))
		}
		return
	}
	value := testkit.Must(jsonschema.UnmarshalJSON(bytes.NewReader(v)))(t)
	if theirs := schema.Validate(value); (theirs == nil) != (ours == nil) && !beyond(ours) {
		t.Errorf("%s: the shape says %v, the schema %v", text, ours, theirs)
	}
}

// beyond is a number that canonicalising turns into the largest double.
func beyond(err error) bool {
	e, ok := err.(*Error)
	return ok && e.What == "does not fit a double"
}

func TestShapeAndSchemaGiveTheSameVerdict(t *testing.T) {
	values := rapid.SampledFrom([]string{`"t"`, `""`, `"draft"`, `"done"`, `"00ff"`, `"00ff\n"`, `"äö"`, `"äöü"`, `0`, `1`, `-1`, `0.5`, `1.5`, `-1.5`, `1e21`, `9007199254740991`,
		`9007199254740992`, `true`, `false`, `null`, `[]`, `{}`, `["t"]`, `[""]`, `[{"url":""}]`, `[{}]`, `[null]`, `{"by":"abc"}`, `{"by":""}`, `{"a":"b","c":""}`, `{"a":1}`, `[[]]`})
	keys := []string{"hash", "words", "score", "public", "nothing", "free", "links", "labels", "meta", "a/b~c", "size", "other", "title", "state", "note", "few", "some", "range"}
	rapid.Check(t, func(t *rapid.T) {
		members := map[string]json.RawMessage{"title": json.RawMessage(`"t"`), "state": json.RawMessage(`"draft"`)}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			members[rapid.SampledFrom(keys).Draw(t, "key")] = json.RawMessage(values.Draw(t, "value"))
		}
		if rapid.IntRange(0, 9).Draw(t, "leave out") == 0 {
			delete(members, rapid.SampledFrom(keys).Draw(t, "key"))
		}
		text := testkit.Must(json.Marshal(members))(t)
		if rapid.IntRange(0, 19).Draw(t, "bare") == 0 {
			text = []byte(values.Draw(t, "value"))
		}
		sameVerdict(t, text)
	})
}

func TestTheSchemaNamesWhatItDemands(t *testing.T) {
	got := fmt.Sprint(Object(Must("a", Match("x")), May("b", Integer(1))).Schema())
	want := `map[additionalProperties:false properties:map[a:map[pattern:^(?:x)$ type:string] b:map[maximum:9.007199254740991e+15 minimum:1 type:integer]] required:[a] type:object]`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
