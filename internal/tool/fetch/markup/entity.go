package markup

import (
	"html"
	"strings"
	"unicode/utf8"
)

// plain is text without references and without the bytes that are no text.
func plain(s string) string {
	return strings.ReplaceAll(html.UnescapeString(s), "\x00", "")
}

// attribute is a value without references. Other than in text, one that has no semicolon counts only where no
// letter, digit or equals sign follows: addresses are full of what looks like one.
func attribute(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	n := strings.IndexByte(s, '&')
	if n < 0 {
		return s
	}
	var b strings.Builder
	for n >= 0 {
		b.WriteString(s[:n])
		s = s[n:]
		end := 1
		for end < len(s) && (letter(s[end]) || '0' <= s[end] && s[end] <= '9' || s[end] == '#' && end == 1) {
			end++
		}
		if end < len(s) && s[end] == ';' {
			end++
		}
		b.WriteString(reference(s[:end], s[end:]))
		s = s[end:]
		n = strings.IndexByte(s, '&')
	}
	b.WriteString(s)
	return b.String()
}

// reference is what a reference of an attribute stands for; itself where it is none.
func reference(s, rest string) string {
	meant := html.UnescapeString(s)
	switch {
	case strings.HasPrefix(s, "&#"):
		return meant
	case strings.HasSuffix(s, ";"):
		if meant == ";" || !strings.HasSuffix(meant, ";") {
			return meant
		}
	case !strings.HasPrefix(rest, "=") && utf8.RuneCountInString(meant) == 1:
		return meant // those without a semicolon are of one character; more means that letters follow
	}
	return s
}
