package facts

import (
	"iter"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"
)

func mapsKeys[M ~map[K]V, K comparable, V any](m M) iter.Seq[K] { return maps.Keys(m) }

// tidy takes out what drives a terminal or hides text, and ends lines with a line feed.
func tidy(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\f' || r == '\v':
			return '\n'
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\ufeff':
			return -1
		}
		return r
	}, s)
}

// oneLine joins all words with single spaces and cuts them at a number of bytes.
func oneLine(s string, limit int) string {
	return cut(strings.Join(strings.Fields(tidy(s)), " "), limit)
}

// cut shortens at a rune and says so.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	at := limit - len("…")
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return strings.TrimRight(s[:at], " ") + "…"
}

// cutLines shortens at the end of a line, or in the line if there is only one.
func cutLines(s string, limit int) string {
	s = strings.TrimRight(strings.Trim(tidy(s), "\n"), " \t\n")
	if len(s) <= limit {
		return s
	}
	at := strings.LastIndexByte(s[:limit-len("\n…")], '\n')
	if at <= 0 {
		return cut(s, limit)
	}
	return strings.TrimRight(s[:at], " \t\n") + "\n…"
}

// cutText shortens at the end of a paragraph if that keeps half, else at a line or a word. A
// fence that the cut opened is closed by cutting before it.
func cutText(s string, limit int) string {
	s = strings.TrimSpace(tidy(s))
	if len(s) <= limit {
		return s
	}
	head := s[:limit-4]
	if strings.Count(head, "\n```")%2 == 1 || strings.HasPrefix(head, "```") && strings.Count(head, "\n```")%2 == 0 {
		at := max(0, strings.LastIndex(head, "\n```"))
		head = head[:at]
		return strings.TrimSpace(head)
	}
	if at := strings.LastIndex(head, "\n\n"); at > limit/2 {
		return strings.TrimSpace(head[:at])
	}
	if at := strings.LastIndexAny(head, " \n"); at > limit/2 {
		head = head[:at]
	}
	return cut(strings.ToValidUTF8(head, "")+"…", limit)
}

// unindent takes away the white space that all lines but the first share.
func unindent(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	margin := -1
	for _, l := range lines[1:] {
		if body := strings.TrimLeft(l, " \t"); body != "" && (margin < 0 || len(l)-len(body) < margin) {
			margin = len(l) - len(body)
		}
	}
	for i, l := range lines {
		if i > 0 && margin > 0 {
			l = l[min(margin, len(l)):]
		}
		lines[i] = strings.TrimRight(l, " \t")
	}
	lines[0] = strings.TrimLeft(lines[0], " \t")
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// squeeze makes one piece of a declaration: white space collapsed, none inside brackets' ends.
func squeeze(s string) string {
	s = oneLine(s, 8*signatureLimit)
	for _, r := range [][2]string{{"( ", "("}, {" )", ")"}, {"[ ", "["}, {" ]", "]"}, {",)", ")"}, {",]", "]"}, {" ,", ","}} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return strings.TrimSpace(s)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}
