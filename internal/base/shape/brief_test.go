package shape

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	_ "ramet/internal/testkit"
)

// shapes draws shapes of every kind, with everything that can be said of them.
func shapes(t *rapid.T, depth int) *Shape {
	word := rapid.SampledFrom([]string{"", "a", "b", "a <b> & c", "\u2028 é \"q\" \\ \n", "\xff"})
	var out *Shape
	switch pick := rapid.IntRange(0, 14).Draw(t, "kind"); {
	case pick >= 10 && depth > 0:
		var fields []Field
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			f := Must(word.Draw(t, "field"), shapes(t, depth-1))
			f.Optional = rapid.Bool().Draw(t, "optional")
			if rapid.Bool().Draw(t, "untold") {
				f = f.Untold()
			}
			fields = append(fields, f)
		}
		if out = Object(fields...); pick == 11 {
			out = Open(fields...)
		}
		out = out.AtLeast(rapid.IntRange(0, 2).Draw(t, "least"))
	case pick == 0 && depth > 0:
		out = List(shapes(t, depth-1)).AtMost(rapid.IntRange(0, 2).Draw(t, "most"))
	case pick == 1 && depth > 0:
		if out = Either(shapes(t, depth-1), shapes(t, depth-1)); rapid.Bool().Draw(t, "none") {
			out = Either()
		}
	case pick == 2 && depth > 0:
		out = Map(shapes(t, depth-1))
	case pick == 3:
		out = Text(rapid.IntRange(0, 2).Draw(t, "least")).Format(word.Draw(t, "format"))
	case pick == 4:
		out = Match("^<a>?$")
	case pick == 5:
		out = Enum(rapid.SliceOf(word).Draw(t, "enum")...)
	case pick == 6:
		out = Range(-1, 5)
	case pick == 7:
		out = Number(0, 1)
	case pick == 8:
		out = rapid.SampledFrom([]*Shape{Bool(), Null(), Any(), Whole(), Real(), Hex(8)}).Draw(t, "plain")
	default:
		out = Text(0)
		out.bytes = rapid.Bool().Draw(t, "bytes")
	}
	if rapid.Bool().Draw(t, "null") {
		out = out.OrNull()
	}
	return out.With(word.Draw(t, "description"))
}

func TestBriefIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shapes(t, 3)
		want, err := json.Marshal(briefly(s))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Brief(); string(got) != string(want) {
			t.Fatalf("%s\nnot %s", got, want)
		}
	})
}

// briefly is what Brief writes, made of Schema.
func briefly(s *Shape) map[string]any {
	out := s.Schema()
	for _, detail := range []string{"additionalProperties", "minLength", "minimum", "maximum"} {
		delete(out, detail)
	}
	switch s.kind {
	case arrayKind:
		items := briefly(s.elem)
		delete(items, "required") // who gives a member of a list gives it whole
		out["items"] = items
	case eitherKind:
		var all []any
		for _, one := range s.either {
			all = append(all, briefly(one))
		}
		out["anyOf"] = all
	case objectKind:
		properties, _ := out["properties"].(map[string]any)
		for _, f := range s.fields {
			if f.untold {
				delete(properties, f.Name)
			} else {
				properties[f.Name] = briefly(f.Shape)
			}
		}
	}
	return out
}
