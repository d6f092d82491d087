package text

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a JSON text, of the same value, with nothing in it that a terminal
// would obey. JSON itself escapes only what is below the space.
func JSON(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x7f || isHostile(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case isHostile(r):
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
