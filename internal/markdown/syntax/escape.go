package syntax

import (
	"bytes"
	"html"
	"strings"
)

// Unescape resolves backslashes and character references. Where there are none it is s itself.
func Unescape(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 && bytes.IndexByte(s, '&') < 0 {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && isMark(s[i+1]):
			out = append(out, s[i+1])
			i += 2
			continue
		case s[i] == '&':
			if value, n := reference(s[i:]); n > 0 {
				out = append(out, value...)
				i += n
				continue
			}
		}
		out = append(out, s[i])
		i++
	}
	return out
}

// longestName of a character reference.
const longestName = 33

// reference is what the character reference stands for that s begins with, and its length.
func reference(s []byte) (value string, length int) {
	end := bytes.IndexByte(s[:min(len(s), longestName)], ';')
	if end < 2 {
		return "", 0
	}
	if s[1] == '#' {
		if !isNumber(s[2:end]) {
			return "", 0
		}
		// The numbers that are no characters stand for those that browsers show.
		return html.UnescapeString(string(s[:end+1])), end + 1
	}
	if run(s[1:end], isWord) < end-1 {
		return "", 0
	}
	name := string(s[:end+1])
	value = html.UnescapeString(name)
	// A name that only begins like another is none.
	if value == name || strings.HasSuffix(value, ";") && name != "&semi;" {
		return "", 0
	}
	return value, end + 1
}

// isNumber: digits, or behind an x those of base 16.
func isNumber(digits []byte) bool {
	kind, most := isDigit, 7
	if len(digits) > 0 && digits[0]|0x20 == 'x' {
		kind, most, digits = isHex, 6, digits[1:]
	}
	return len(digits) > 0 && len(digits) <= most && run(digits, kind) == len(digits)
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
