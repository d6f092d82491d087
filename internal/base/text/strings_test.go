package text

import (
	"strings"
	"testing"
)

func TestStrings(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "key", "***") }
	for _, c := range []struct{ in, want string }{
		{`{"a": "plain",  "n": 1e999}`, `{"a": "plain",  "n": 1e999}`}, // untouched, spaces and all
		{`{"a":["the key",{"key":1}]}`, `{"a":["the ***",{"***":1}]}`},
		{`{"a":"<key>"}`, `{"a":"<***>"}`},
		{`"key"`, `"***"`},
		{`{"a": key`, `{"a": key`}, // no JSON
		{`12345678901234567890`, `12345678901234567890`},
	} {
		if got := string(Strings([]byte(c.in), hide)); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
}
