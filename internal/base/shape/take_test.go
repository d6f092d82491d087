package shape

import (
	"slices"
	"testing"
)

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
