package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// quotePairs are the pairs of quotes around literal text, longest first.
var quotePairs = [][2]string{{"```", "```"}, {"`", "`"}, {`"`, `"`}, {"“", "”"}, {"«", "»"}, {"'", "'"}}

// quotes replaces the quoted texts of an order by marks while it is parsed, so that no rule looks into them.
type quotes []quotation

type quotation struct{ raw, inner string }

// A mark is one rune of Unicode's private use: the first one for the first quoted text.
const (
	firstMark = '\uE000'
	lastMark  = '\uF8FF'
)

func isMark(r rune) bool { return r >= firstMark && r <= lastMark }

// protect replaces what is quoted in s by marks.
func (q *quotes) protect(s string) string {
	var b strings.Builder
	for at := 0; at < len(s); {
		if end, inner, ok := findQuote(s, at); ok && firstMark+rune(len(*q)) <= lastMark {
			b.WriteRune(firstMark + rune(len(*q)))
			*q = append(*q, quotation{s[at:end], inner})
			at = end
			continue
		}
		b.WriteByte(s[at])
		at++
	}
	return b.String()
}

// restore puts the quoted texts back, with their quotes.
func (q quotes) restore(s string) string {
	var b strings.Builder
	for _, r := range s {
		if i := int(r - firstMark); isMark(r) && i < len(q) {
			b.WriteString(q[i].raw)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// literal returns the text between the quotes if all of s is quoted, else s as it was written.
func (q quotes) literal(s string) (inner string, quoted bool) {
	s = strings.TrimSpace(s)
	r, size := utf8.DecodeRuneInString(s)
	if !isMark(r) || size != len(s) || int(r-firstMark) >= len(q) {
		return q.restore(s), false
	}
	one := q[r-firstMark]
	if strings.HasPrefix(one.raw, "```") { // its first line may name a language
		if first, rest, lines := strings.Cut(one.inner, "\n"); lines && !strings.ContainsAny(strings.TrimSpace(first), " \t") {
			return rest, true
		}
	}
	return one.inner, true
}

// plain returns the text of literal alone.
func (q quotes) plain(s string) string {
	inner, _ := q.literal(s)
	return inner
}

// findQuote finds the quoted text that begins at a byte of s.
func findQuote(s string, at int) (end int, inner string, ok bool) {
	for _, pair := range quotePairs {
		if !strings.HasPrefix(s[at:], pair[0]) {
			continue
		}
		from := at + len(pair[0])
		if pair[0] == "'" && !canOpen(s, at) {
			return 0, "", false
		}
		for to, tries := from, 0; tries < 20; to, tries = to+1, tries+1 { // apostrophes may be many
			n := strings.Index(s[to:], pair[1])
			if n < 0 {
				break
			}
			if to += n; pair[0] != "'" || canClose(s, to+1) {
				return to + len(pair[1]), s[from:to], true
			}
		}
	}
	return 0, "", false
}

// canOpen and canClose tell a single quote from an apostrophe.
func canOpen(s string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	return at == 0 || unicode.IsSpace(r) || strings.ContainsRune("(:,=", r)
}

func canClose(s string, after int) bool {
	r, _ := utf8.DecodeRuneInString(s[after:])
	return after == len(s) || unicode.IsSpace(r) || strings.ContainsRune(").,;:!?", r)
}
