package shape

import (
	"encoding/json"
	"testing"
)

// What is JSON to the library is JSON here.
func FuzzValid(f *testing.F) {
	for _, s := range []string{``, `{}`, ` {"a":[1,-0.5e3,null,true]} `, `{"a":1,"a":2}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{} {}`, `{,}`, "{\"a\":\"\n\"}", `01`, `"\u00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := Valid(text), json.Valid(text); got != want {
			t.Errorf("%q: %v, the library says %v", text, got, want)
		}
	})
}
