package fault

import (
	"strings"
	"testing"
)

func TestCheckText(t *testing.T) {
	for in, want := range map[string]string{
		"ok":                     "",
		"äöü 日本 👩‍👩‍👧\n\t":       "",
		"":                       "body is empty: write something",
		strings.Repeat("x", 101): "body has 101 bytes, over the limit of 100: make it shorter, or say it in several pieces",
		"ab\xffcd":               "body is not valid UTF-8 at byte 2: convert it first, for instance with iconv",
		"\uFFFDx\xf0":            "body is not valid UTF-8 at byte 4: convert it first, for instance with iconv",
		"a\x00b":                 "body holds a NUL at byte 1: binary data belongs in a file",
	} {
		got := ""
		if err := CheckText(InvalidText, "body", in, 100); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("CheckText(%.20q) = %q, want %q", in, got, want)
		}
	}
}
