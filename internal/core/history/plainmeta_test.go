package history

import (
	"reflect"
	"testing"

	"ramet/internal/base/id"
)

// What we write of meta is read without encoding/json, which takes a small command longer than the rest.
func TestPlainMetaIsReadWithoutEncodingJSON(t *testing.T) {
	for _, m := range []Meta{{}, {Label: "über"}, {Children: []id.Agent{"a", "b"}, Parent: "c"},
		{Files: &State{Root: "ab", Changed: 12, Bytes: -3, Folder: "/x"}, Limit: &Limit{By: "x", Tools: []string{}}},
		{Permission: &Permission{}, Limit: &Limit{By: "x", Tools: []string{"bash", "edit"}}},
	} {
		text, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var got Meta
		if r := (plain{text}); !r.object(reflect.ValueOf(&got).Elem()) || len(r.rest) > 0 || !reflect.DeepEqual(got, m) {
			t.Errorf("%s is read as %+v, %q is left", text, got, r.rest)
		}
	}
	var flag struct {
		On bool `json:"on"`
	}
	for text, want := range map[string]bool{`{"on":true}`: true, `{"on":false}`: false} {
		if r := (plain{[]byte(text)}); !r.object(reflect.ValueOf(&flag).Elem()) || flag.On != want {
			t.Errorf("%s is read as %t", text, flag.On)
		}
		flag.On = false
	}
}

// An entry that should tell a state of files and does not is damaged.
func TestAnEntryWithoutItsStateIsDamaged(t *testing.T) {
	for _, meta := range []string{"{}", "{"} {
		if s, err := stated(Entry{Kind: Files, Meta: []byte(meta)}); err == nil {
			t.Errorf("%s tells %+v", meta, s)
		}
	}
}
