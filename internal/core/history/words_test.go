package history

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What is written without encoding/json has its bytes.
func TestWordsAreEncodedAsEverythingElse(t *testing.T) {
	texts := []string{"", "plain", `"<>&\`, "\x00\x1f\x7f\b\f\n\r\t", "ä€\U0001F600\u0085", "\u2028", "a\u2029", "\xff", "\xe2\x80", "\ufffd", strings.Repeat("x", BlobCutoff)}
	for c := range 256 {
		texts = append(texts, "before"+string([]byte{byte(c)})+"behind it")
	}
	for _, s := range texts {
		parts := []Part{{Type: Facts, Text: s}, {Type: Text, Text: s}}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(parts); err != nil {
			t.Fatal(err)
		}
		got, _, err := Encode(parts)
		if err != nil || string(got)+"\n" != want.String() {
			t.Errorf("%q: %s, want %s: %v", s, got, want.Bytes(), err)
		}
	}
}

// A part with anything but a type and a text is none of words: a field that is new must be looked at too.
func TestEveryFieldOfAPartIsLookedAt(t *testing.T) {
	fields := reflect.TypeFor[Part]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Type" || name == "Text" {
			continue
		}
		p := Part{Type: Text, Text: "words"}
		if !p.isWords() {
			t.Fatal("a text is none of words")
		}
		switch f := reflect.ValueOf(&p).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int64:
			f.SetInt(1)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		default:
			t.Fatalf("%s is a %s, which this test does not know", name, f.Kind())
		}
		if p.isWords() {
			t.Errorf("a part with %s is taken for a text alone", name)
		}
	}
}
