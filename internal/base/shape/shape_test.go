package shape

import (
	"errors"
	"slices"
	"strings"
	"testing"
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
