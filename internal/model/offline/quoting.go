package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// quotes are the pairs in which people put what is meant literally, longest
// first.
var quotes = [][2]string{{"```", "```"}, {"`", "`"}, {`"`, `"`}, {"“", "”"}, {"«", "»"}, {"'", "'"}}

// quotedAt returns the quoted text that begins at a byte of s: where it ends, and what
// is in it.
func quotedAt(s string, at int) (end int, inner string, ok bool) {
	for _, q := range quotes {
		if !strings.HasPrefix(s[at:], q[0]) {
			continue
		}
		from := at + len(q[0])
		if q[0] == "'" && !opens(s, at) {
			return 0, "", false
		}
		for to, tries := from, 0; tries < 20; to, tries = to+1, tries+1 { // apostrophes may be many
			n := strings.Index(s[to:], q[1])
			if n < 0 {
				break
			}
			if to += n; q[0] != "'" || closes(s, to+1) {
				return to + len(q[1]), s[from:to], true
			}
		}
	}
	return 0, "", false
}

// opens and closes tell a single quote from an apostrophe.
func opens(s string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	return at == 0 || unicode.IsSpace(r) || strings.ContainsRune("(:,=", r)
}

func closes(s string, after int) bool {
	r, _ := utf8.DecodeRuneInString(s[after:])
	return after == len(s) || unicode.IsSpace(r) || strings.ContainsRune(").,;:!?", r)
}

// mask returns a text of the same length in which everything quoted is blotted out, so
// that words are looked for only outside of it.
func mask(s string) string {
	b := []byte(s)
	for i := 0; i < len(s); {
		end, _, ok := quotedAt(s, i)
		if !ok {
			i++
			continue
		}
		for ; i < end; i++ {
			b[i] = 0
		}
	}
	return string(b)
}

// literal returns a text without the quotes around all of it.
func literal(s string) (inner string, quoted bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", false
	}
	end, inner, ok := quotedAt(s, 0)
	if !ok || end != len(s) {
		return s, false
	}
	if strings.HasPrefix(s, "```") { // a block: its first line may name a language
		if first, rest, lines := strings.Cut(inner, "\n"); lines && !strings.ContainsAny(strings.TrimSpace(first), " \t") {
			inner = rest
		}
	}
	return inner, true
}

// plain is literal for those who do not care.
func plain(s string) string {
	inner, _ := literal(s)
	return inner
}

// allQuoted returns the quoted texts of a text, and what stands between them.
func allQuoted(s string) (inner []string, between string) {
	for i := 0; i < len(s); {
		end, in, ok := quotedAt(s, i)
		if !ok {
			between += s[i : i+1]
			i++
			continue
		}
		inner = append(inner, in)
		between += " "
		i = end
	}
	return inner, between
}
