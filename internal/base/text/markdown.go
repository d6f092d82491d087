package text

import (
	"html"
	"strings"
)

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// UnescapeMarkdown resolves the backslashes and character references of Markdown.
func UnescapeMarkdown(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte(punctuation, s[i+1]) >= 0:
			b.WriteByte(s[i+1])
			i += 2
			continue
		case s[i] == '&':
			if end := referenceLength(s[i:]); end > 0 {
				b.WriteString(html.UnescapeString(s[i : i+end]))
				i += end
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// referenceLength returns the length of the character reference that s begins with, or 0.
func referenceLength(s string) int {
	const longestName = 33
	for i := 1; i < len(s) && i < longestName; i++ {
		c := s[i]
		switch {
		case c == ';' && i > 1:
			return i + 1
		case c == '#' && i == 1, c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		default:
			return 0
		}
	}
	return 0
}
