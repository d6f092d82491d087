package markdown

import "strings"

// strip takes a box's sign off a line, and says whether it was there.
func (b box) strip(rest string) (string, bool) {
	in := indentOf(rest)
	switch {
	case b.quote:
		body := expandIndent(rest)[in:]
		if in < 4 && strings.HasPrefix(body, ">") {
			return strings.TrimPrefix(body[1:], " "), true
		}
		return rest, false
	case strings.TrimSpace(rest) == "":
		return "", true
	case in >= b.indent:
		return expandIndent(rest)[b.indent:], true
	case in >= 2:
		// Many write a list in a list with two spaces, however long the number above.
		body := expandIndent(rest)[in:]
		if _, _, _, ok := listMarker(body); ok && !isRule(body) {
			return body, true
		}
	}
	return rest, false
}

// indentOf counts the columns before the text.
func indentOf(s string) int {
	n := 0
	for i := range len(s) {
		switch s[i] {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// expandIndent writes the columns before the text as spaces.
func expandIndent(s string) string {
	body := strings.TrimLeft(s, " \t")
	if strings.IndexByte(s[:len(s)-len(body)], '\t') < 0 {
		return s
	}
	return strings.Repeat(" ", indentOf(s)) + body
}

// listMarker reads the sign of an item; after is how many spaces belong to it.
func listMarker(s string) (marker, number string, after int, ok bool) {
	n := 0
	for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	switch {
	case n > 0 && n < len(s) && (s[n] == '.' || s[n] == ')'):
		marker, number = s[:n+1], s[:n]
	case n == 0 && s != "" && strings.IndexByte("-+*", s[0]) >= 0:
		marker = s[:1]
	default:
		return "", "", 0, false
	}
	content := s[len(marker):]
	spaces := len(content) - len(strings.TrimLeft(content, " "))
	switch {
	case strings.TrimSpace(content) == "":
		return marker, number, 1, true
	case content[0] == '\t':
		return marker, number, 1, true
	case spaces == 0:
		return "", "", 0, false
	case spaces > 4: // code in an item
		return marker, number, 1, true
	}
	return marker, number, spaces, true
}

func heading(s string) (level int, title string, ok bool) {
	for level < len(s) && s[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(s) && s[level] != ' ' && s[level] != '\t' {
		return 0, "", false
	}
	title = strings.TrimSpace(s[level:])
	if bare := strings.TrimRight(title, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		title = strings.TrimSpace(bare)
	}
	return level, title, true
}

// fenceOf reads the beginning of a code block: the fence and the language.
func fenceOf(s string) (fence, language string, ok bool) {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return "", "", false
	}
	rest := strings.TrimLeft(s, s[:1])
	fence = s[:len(s)-len(rest)]
	if len(fence) < 3 || fence[0] == '`' && strings.Contains(rest, "`") {
		return "", "", false
	}
	language, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return fence, language, true
}

// isRule: three or more of one sign, and spaces.
func isRule(s string) bool {
	if s == "" || strings.IndexByte("-*_", s[0]) < 0 {
		return false
	}
	n := strings.Count(s, s[:1])
	return n >= 3 && strings.Trim(s, s[:1]+" \t") == ""
}

// isSetext: the line under a heading. Three signs at least, though the standard is
// content with one: a list that is being typed must not look like a heading.
func isSetext(s string) bool {
	s = strings.TrimRight(s, " \t")
	return len(s) >= 3 && (s[0] == '=' || s[0] == '-') && strings.Trim(s, s[:1]) == ""
}
