package history_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/history"
)

func TestMetaIsEncodedAsEncodingJSONDoes(t *testing.T) {
	metas := rapid.Make[history.Meta]()
	rapid.Check(t, func(t *rapid.T) {
		m := metas.Draw(t, "meta")
		v := reflect.ValueOf(&m).Elem()
		for i := range v.NumField() { // most entries say one thing, or none
			if rapid.Bool().Draw(t, "left out") {
				v.Field(i).SetZero()
			}
		}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Encode(); err != nil || string(got) != string(want) {
			t.Errorf("%s, %v\nnot %s", got, err, want)
		}
	})
}

// What Encode relies on: a name of its own for each field, which is left out where it is empty.
func TestEveryFieldOfMetaHasANameAndMayBeLeftOut(t *testing.T) {
	m := reflect.TypeFor[history.Meta]()
	for i := range m.NumField() {
		f := m.Field(i)
		if name := f.Tag.Get("json"); f.Anonymous || !f.IsExported() || len(name) < len("x,omitempty") || name[len(name)-len(",omitempty"):] != ",omitempty" {
			t.Errorf("%s: %q", f.Name, name)
		}
		if k := f.Type.Kind(); k != reflect.String && k != reflect.Slice && k != reflect.Pointer {
			t.Errorf("%s: what is empty of a %s?", f.Name, k)
		}
	}
}
