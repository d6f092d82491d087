package prose

import (
	"net/url"
	"regexp"
	"strings"
)

// Escape makes plain text of a line safe in Markdown; what stands in backticks stays
// code, and addresses stay addresses.
func Escape(text string) string {
	return outsideCode(text, func(s string) string {
		plain := func(s string) string { return outside(s, dunder(), escapePlain, CodeSpan) }
		return outside(s, address(), plain, func(to string) string {
			if !valid(to) {
				return CodeSpan(to)
			}
			return "<" + to + ">"
		})
	})
}

var address = lazily(`https?://[A-Za-z0-9][^\s<>"'\x60\\|{}]*[A-Za-z0-9/#=_-]`)

// dunder are names of Python that are made of underscores.
var dunder = lazily(`\b__\w+__\b(?:\(\))?`)

// valid says whether an address is one that a browser opens, and names no user.
func valid(to string) bool {
	u, err := url.Parse(to)
	return err == nil && u.User == nil && (u.Scheme == "mailto" || u.Hostname() != "" && !strings.HasPrefix(u.Host, ".") && !strings.Contains(u.Host, ".."))
}

// outside changes what does not match, and otherwise what does.
func outside(s string, re *regexp.Regexp, rest, match func(string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		b.WriteString(rest(s[at:m[0]]))
		b.WriteString(match(s[m[0]:m[1]]))
		at = m[1]
	}
	b.WriteString(rest(s[at:]))
	return b.String()
}

// outsideCode changes what stands between spans of code. A single backtick without a
// partner is escaped.
func outsideCode(s string, change func(string) string) string {
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '`')
		if open < 0 {
			b.WriteString(change(s))
			break
		}
		n := open
		for n < len(s) && s[n] == '`' {
			n++
		}
		marks := s[open:n]
		end := closing(s[n:], len(marks))
		if end < 0 {
			b.WriteString(change(s[:open]) + strings.Repeat("\\`", len(marks)))
			s = s[n:]
			continue
		}
		b.WriteString(change(s[:open]))
		b.WriteString(s[open : n+end+len(marks)])
		s = s[n+end+len(marks):]
	}
	return b.String()
}

// closing is where a run of exactly so many backticks begins.
func closing(s string, n int) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		j := i
		for j < len(s) && s[j] == '`' {
			j++
		}
		if j-i == n {
			return i
		}
		i = j - 1
	}
	return -1
}

// escapePlain escapes what would be markup. Underscores within words are none.
func escapePlain(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '<':
			b.WriteString("&lt;")
			continue
		case c == '>':
			b.WriteString("&gt;")
			continue
		case c == '&' && entity().MatchString(s[i:]):
			b.WriteString("&amp;")
			continue
		case c == '*' || c == '\\', c == '[' && opensLink(s[i:]),
			c == '_' && !(i > 0 && i+1 < len(s) && letter(s[i-1]) && letter(s[i+1])),
			c == '~' && strings.HasPrefix(s[i:], "~~"),
			c == '#' && strings.TrimSpace(s[:i]) == "":
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// opensLink says whether what begins with a bracket could be taken for a link, or for a
// box to tick.
func opensLink(s string) bool {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i+1 < len(s) && strings.IndexByte("([:", s[i+1]) >= 0 || i == 2
			}
		}
	}
	return false
}

var entity = lazily(`^&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

// CodeSpan is a piece of code within a line.
func CodeSpan(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return ""
	}
	mark := "`"
	for strings.Contains(s, mark) {
		mark += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

// Cell is a text for a cell of a table.
func Cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// First is the first sentence of a paragraph.
func First(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, m := range sentence().FindAllStringIndex(s, -1) {
		head := strings.TrimRight(s[:m[1]], " ")
		if abbreviation().MatchString(head) || strings.Count(head, "`")%2 == 1 || strings.Count(head, "(") > strings.Count(head, ")") {
			continue
		}
		return head
	}
	return s
}

var (
	sentence     = lazily(`[.!?](?:["')\]]*)(?: |$)`)
	abbreviation = lazily(`(?i)(?:\be\.g|\bi\.e|\betc|\bvs|\bcf|\bca|\bal|\bNo|\bSt|\bDr|\bMr|\bviz|\b[A-Z])\.$`)
)
