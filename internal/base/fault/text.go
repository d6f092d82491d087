package fault

import (
	"strings"
	"unicode/utf8"
)

// CheckText accepts a text of 1 to limit bytes of UTF-8 without NUL, which both
// databases can store and every provider accepts. The error has the given code
// and calls the text what.
func CheckText(code Code, what, s string, limit int) error {
	switch {
	case s == "":
		return New(code, "%s is empty", what).WithHint("write something")
	case len(s) > limit:
		return New(code, "%s has %d bytes, over the limit of %d", what, len(s), limit).
			WithHint("make it shorter, or say it in several pieces")
	case !utf8.ValidString(s):
		return New(code, "%s is not valid UTF-8 at byte %d", what, badByte(s)).
			WithHint("convert it first, for instance with iconv")
	case strings.IndexByte(s, 0) >= 0:
		return New(code, "%s contains a NUL at byte %d", what, strings.IndexByte(s, 0)).
			WithHint("binary data belongs in a file")
	}
	return nil
}

// badByte returns the offset of the first byte that is not UTF-8.
func badByte(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return 0
}
