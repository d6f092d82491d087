package session

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is one word of a line and where it stood.
type word struct {
	text       string
	start, end int  // bytes
	quoted     bool // some of it, so that it is no option
	open       rune // the quote that was not closed, or a backslash at the end
}

// nextWord reads the word that begins at or after from, and reports whether there is one.
func nextWord(line string, from int) (word, bool) {
	at := from
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += n
	}
	if at >= len(line) {
		return word{start: at, end: at}, false
	}
	w := word{start: at}
	var b strings.Builder
	var quote rune
	for at < len(line) {
		r, n := utf8.DecodeRuneInString(line[at:])
		raw := line[at : at+n]
		switch {
		case quote == 0 && unicode.IsSpace(r):
			w.text, w.end = b.String(), at
			return w, true
		case quote == 0 && (r == '"' || r == '\''):
			quote, w.quoted = r, true
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			rest := line[at+n:]
			if rest == "" {
				w.open = '\\'
				break
			}
			_, size := utf8.DecodeRuneInString(rest)
			if quote == '"' && rest[0] != '"' && rest[0] != '\\' {
				b.WriteString(raw) // as in a shell: only these two are escaped there
				break
			}
			w.quoted = true
			b.WriteString(rest[:size])
			at += size
		default:
			b.WriteString(raw)
		}
		at += n
	}
	if quote != 0 {
		w.open = quote
	}
	w.text, w.end = b.String(), len(line)
	return w, true
}

// QuoteWord writes a text so that it is one word, and the same one.
func QuoteWord(s string) string {
	plain := s != "" && !strings.HasPrefix(s, "-")
	for _, r := range s {
		if unicode.IsSpace(r) || strings.ContainsRune(`"'\`, r) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
