package shape

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"ramet/internal/testkit"
)

// page uses every kind of shape.
var page = Object(
	Must("title", Text(1)),
	Must("state", Enum("draft", "done")),
	May("hash", Match(`[0-9a-f]{4}`)),
	May("words", Integer(0)),
	May("score", Number(-1, 1)),
	May("public", Bool()),
	May("nothing", Null()),
	May("free", Any()),
	May("links", List(Either(Text(1), Object(Must("url", Text(0)))))),
	May("labels", Map(Text(0))),
	May("meta", Open(Must("by", Text(3)))),
	May("a/b~c", Integer(1)),
	May("size", Either(Integer(1), Null())),
	May("note", Text(1).OrNull()),
	May("few", List(Text(0)).AtMost(1)),
	May("some", Map(Text(0)).AtLeast(1).OrNull()),
	May("range", Range(0, 1)),
)

func TestEachKindIsChecked(t *testing.T) {
	for _, c := range []struct{ text, pointer, what string }{
		{`{"title":"t","state":"draft"}`, "", ""},
		{` { "title" : "t" , "state" : "done" , "links" : [ ] , "labels" : { } , "meta" : { "by" : "äöü" } } `, "", ""},
		{`{"state":"draft","title":"t","hash":"00ff","words":0,"score":-1,"public":false,"nothing":null,"free":{"a":[1e400]},"links":["x",{"url":""}],"labels":{"a":""},"meta":{"by":"abc","z":1},"a/b~c":1,"size":null}`, "", ""},
		{`{"title":"\u0074","st\u0061te":"dr\u0061ft","hash":"\u00300ff"}`, "", ""},
		{``, "", "not JSON"},
		{`{`, "", "not JSON"},
		{`{} {}`, "", "something follows"},
		{`{"title":"t","title":"t","state":"draft"}`, "", "not JSON"},
		{"{\"title\":\"\xff\",\"state\":\"draft\"}", "", "not JSON"},
		{`{"title":"t","state":"draft","note":null,"few":["a"],"some":null,"range":1}`, "", ""},
		{`{"title":"t","state":"draft","note":1}`, "/note", "must be a string or null"},
		{`{"title":"t","state":"draft","few":["a","b"]}`, "/few", "must have 1 or fewer items"},
		{`{"title":"t","state":"draft","some":{}}`, "/some", "must have 1 or more members"},
		{`{"title":"t","state":"draft","range":2}`, "/range", "must be from 0 to 1"},
		{`[]`, "", "must be an object"},
		{`null`, "", "must be an object"},
		{`{"title":"t"}`, "/state", "is missing"},
		{`{"state":"draft"}`, "/title", "is missing"},
		{`{"title":"","state":"draft"}`, "/title", "must not be empty"},
		{`{"title":1,"state":"draft"}`, "/title", "must be a string"},
		{`{"title":"t","state":"Draft"}`, "/state", "must be one of draft, done"},
		{`{"title":"t","state":"draft","hash":"00ff0"}`, "/hash", "does not fit"},
		{`{"title":"t","state":"draft","hash":"00ff\n"}`, "/hash", "does not fit"},
		{`{"title":"t","state":"draft","words":1.5}`, "/words", "must be an integer"},
		{`{"title":"t","state":"draft","words":-1}`, "/words", "must be from 0 to 9007199254740991"},
		{`{"title":"t","state":"draft","words":9007199254740992}`, "/words", "must be from"},
		{`{"title":"t","state":"draft","words":1e400}`, "/words", "does not fit a double"},
		{`{"title":"t","state":"draft","words":"1"}`, "/words", "must be an integer"},
		{`{"title":"t","state":"draft","score":1.01}`, "/score", "must be from -1 to 1"},
		{`{"title":"t","state":"draft","score":true}`, "/score", "must be a number"},
		{`{"title":"t","state":"draft","public":0}`, "/public", "must be true or false"},
		{`{"title":"t","state":"draft","nothing":false}`, "/nothing", "must be null"},
		{`{"title":"t","state":"draft","links":{}}`, "/links", "must be an array"},
		{`{"title":"t","state":"draft","links":["a",7]}`, "/links/1", "must be a string or an object"},
		{`{"title":"t","state":"draft","links":["a",""]}`, "/links/1", "must not be empty"},
		{`{"title":"t","state":"draft","links":[{}]}`, "/links/0/url", "is missing"},
		{`{"title":"t","state":"draft","links":[{"url":"","x":1}]}`, "/links/0/x", "no such field"},
		{`{"title":"t","state":"draft","labels":{"a/b":1}}`, "/labels/a~1b", "must be a string"},
		{`{"title":"t","state":"draft","labels":{"~":1}}`, "/labels/~0", "must be a string"},
		{`{"title":"t","state":"draft","labels":{"":1}}`, "/labels/", "must be a string"},
		{`{"title":"t","state":"draft","labels":{"\u002f\"":1}}`, `/labels/~1"`, "must be a string"},
		{`{"title":"t","state":"draft","meta":{}}`, "/meta/by", "is missing"},
		{`{"title":"t","state":"draft","meta":{"by":"äö"}}`, "/meta/by", "must have 3 or more characters"},
		{`{"title":"t","state":"draft","a/b~c":0}`, "/a~1b~0c", "must be from 1"},
		{`{"title":"t","state":"draft","size":0}`, "/size", "must be from 1"},
		{`{"title":"t","state":"draft","size":"1"}`, "/size", "must be an integer or null"},
		{`{"title":"t","state":"draft","x/y":0}`, "/x~1y", "no such field here"},
	} {
		err := page.Check([]byte(c.text))
		var e *Error
		switch {
		case c.what == "" && err == nil:
		case !errors.As(err, &e) || e.Pointer != c.pointer || c.what == "" || !strings.Contains(e.What, c.what):
			t.Errorf("%s: %v, want %s: %s", c.text, err, c.pointer, c.what)
		case e.Pointer != "" && err.Error() != e.Pointer+": "+e.What:
			t.Errorf("%s: %q", c.text, err)
		}
	}
}

func TestADescriptionChangesOnlyTheSchema(t *testing.T) {
	s := Text(1)
	d := s.With("a name")
	if s.Schema()["description"] != nil || d.Schema()["description"] != "a name" || d.Check([]byte(`""`)) == nil {
		t.Errorf("%v %v", s.Schema(), d.Schema())
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{``, `{}`, `{ }`, `{"title":"t","state":"draft","links":[ ],"free":[[{"a":"]"}]]}`, `{"labels":{"\"":"\\"}}`, `"\\"`, `[1 ,2]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sameVerdict(t, text)
	})
}

func TestBriefLeavesOutWhatAModelDoesNotNeed(t *testing.T) {
	s := Object(Must("path", Text(1).With("the file")), May("limit", Range(1, 5)), May("rare", Bool()).Untold(),
		May("items", List(Object(Must("a", Text(0)))).AtMost(3)), May("either", Either(Text(0), Null())))
	const want = `{"properties":{"either":{"anyOf":[{"type":"string"},{"type":"null"}]},"items":{"items":{"properties":{"a":{"type":"string"}},"type":"object"},"maxItems":3,"type":"array"},` +
		`"limit":{"type":"integer"},"path":{"description":"the file","type":"string"}},"required":["path"],"type":"object"}`
	if got := string(s.Brief()); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}

func TestTakeUnderstandsWhatIsPlain(t *testing.T) {
	s := Object(Must("path", Text(1)), May("lines", Integer(1)), May("all", Bool()), May("t", Number(0, 9)),
		May("edits", List(Object(Must("old", Text(1)), May("all", Bool())))), May("any", Any()), May("names", List(Text(1))))
	for _, c := range []struct {
		text, want string
		unknown    []string
	}{
		{`{"path":"a", "lines":3}`, `{"path":"a", "lines":3}`, nil},
		{`{"path":"a","lines":"3"}`, `{"path":"a","lines":3}`, nil},
		{`{"path":"3","lines":" 3 ","t":"1.5","all":"true"}`, `{"path":"3","lines":3,"t":1.5,"all":true}`, nil},
		{`{"path":"a","lines":null}`, `{"path":"a"}`, nil},
		{`{"path":null}`, `{"path":null}`, nil},
		{`{"path":"a","lines":"three","all":"yes","t":"NaN"}`, `{"path":"a","lines":"three","all":"yes","t":"NaN"}`, nil},
		{`{"path":"a","description":"x","why":[1,{"b":2}]}`, `{"path":"a"}`, []string{"description", "why"}},
		{`{"description":"x"}`, `{}`, []string{"description"}},
		{`{"path":"a","edits":"[{\"old\":\"x\",\"all\":\"false\"}]"}`, `{"path":"a","edits":[{"old":"x","all":false}]}`, nil},
		{`{"path":"a","edits":[{"old":"x","all":null},{"old":"x","new":1}]}`, `{"path":"a","edits":[{"old":"x"},{"old":"x"}]}`, []string{"edits[1].new"}},
		{`{"path":7,"edits":{"old":-1.5e3,"new":1}}`, `{"path":"7","edits":[{"old":"-1.5e3"}]}`, []string{"edits[0].new"}},
		{`{"path":"a","names":"b"}`, `{"path":"a","names":["b"]}`, nil},
		{`{"path":"a","names":"[\"b\"]"}`, `{"path":"a","names":["b"]}`, nil},
		{`{"path":"a","names":3}`, `{"path":"a","names":["3"]}`, nil},
		{`{"path":"a","any":"3"}`, `{"path":"a","any":"3"}`, nil},
		{`[1]`, `[1]`, nil},
		{`{"path"`, `{"path"`, nil},
		{``, ``, nil},
	} {
		got, unknown := s.Take([]byte(c.text))
		if string(got) != c.want || !slices.Equal(paths(unknown), c.unknown) {
			t.Errorf("%s: %s %q, want %s %q", c.text, got, paths(unknown), c.want, c.unknown)
		}
	}
}

func paths(unknown []Unknown) (out []string) {
	for _, u := range unknown {
		out = append(out, u.Path())
	}
	return out
}

func TestAnErrorSaysWhereItIs(t *testing.T) {
	for pointer, want := range map[string]string{"": "", "/a": "a", "/steps/2/state": "steps[2].state", "/a~1b/c~0d": "a/b.c~d", "/0": "0"} {
		if got := (&Error{Pointer: pointer}).Path(); got != want {
			t.Errorf("%s: %s, want %s", pointer, got, want)
		}
	}
}

// What has the shape is never changed, and what was taken is taken again as it is.
func FuzzTake(f *testing.F) {
	s := Object(Must("path", Text(1)), May("lines", Integer(1)), May("all", Bool()), May("edits", List(Object(Must("old", Text(1))))))
	f.Add(`{"path":"a","lines":"3","x":{},"edits":"[{}]"}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, unknown := s.Take([]byte(text))
		if s.Check([]byte(text)) == nil && (string(got) != text && len(unknown) > 0) {
			t.Errorf("%s became %s", text, got)
		}
		again, more := s.Take(got)
		if string(again) != string(got) || len(more) > 0 && len(unknown) > 0 {
			t.Errorf("%s: %s, then %s %q", text, got, again, paths(more))
		}
	})
}

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

type tone string

type base struct {
	ID   string `json:"id"`
	Kind string `json:"kind,omitempty"`
}

type node struct {
	base
	Kind   int             `json:"kind"` // hides the other
	At     time.Time       `json:"at"`
	Tone   tone            `json:"tone"`
	Up     *node           `json:"up"`
	Below  []node          `json:"below,omitempty"`
	Share  *float64        `json:"share,omitempty"`
	Raw    json.RawMessage `json:"raw"`
	Hidden string          `json:"-"`
}

func nodes() (*Types, *Shape) {
	types := &Types{Prefix: "#/d/", Words: map[reflect.Type][]string{reflect.TypeFor[tone](): {"low", "high"}}}
	return types, types.Of(reflect.TypeFor[node]())
}

// What encoding/json writes of a type has the type's shape, whatever holds itself.
func TestWhatIsWrittenHasTheShapeOfItsType(t *testing.T) {
	_, shape := nodes()
	half := 0.5
	text := testkit.Must(json.Marshal(node{base: base{ID: "a"}, Tone: "low", Up: &node{Tone: "high", Raw: json.RawMessage(`[1]`)}, Below: []node{{Tone: "low"}}, Share: &half}))(t)
	if err := shape.Check(text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	for wrong, where := range map[string]string{
		`"tone":"low"`: "/tone", `"tone":"high"`: "/up/tone", `"id":"a"`: "/id",
	} {
		name, _, _ := strings.Cut(wrong, ":")
		err := shape.Check([]byte(strings.Replace(string(text), wrong, name+":7", 1)))
		if err == nil || !strings.HasPrefix(err.Error(), where+": must be") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestATypeIsDescribedOnceAndReferredTo(t *testing.T) {
	types, shape := nodes()
	if got := fmt.Sprint(shape.Schema()); got != "map[$ref:#/d/Node]" {
		t.Error(got)
	}
	all := types.Schemas()
	if len(all) != 1 {
		t.Errorf("%d descriptions: %v", len(all), all)
	}
	one := all["Node"].(map[string]any)
	if got := fmt.Sprint(one["required"]); got != "[id kind at tone up raw]" {
		t.Error(got)
	}
	if got := fmt.Sprint(one["properties"].(map[string]any)["up"]); got != "map[anyOf:[map[$ref:#/d/Node] map[type:null]]]" {
		t.Error(got)
	}
	if got := fmt.Sprint(Names(reflect.TypeFor[*node]())); got != "[id kind at tone up below share raw]" {
		t.Error(got)
	}
}
