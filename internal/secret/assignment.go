package secret

import "strings"

// The generic rule's expression costs half a second per megabyte, and texts
// about models are full of its words ("input_tokens": 12). So it only sees the
// pieces of a text where its parts stand in the right order:
//
//	word, up to 20 of [ \t\w.-], up to 3 of [\s'"], operator,
//	up to 5 of [`'"\s=], at least 10 of the value's characters
//
// The search for these pieces errs on the side of too many.

// genericWords are the words of the rule.
var genericWords = []string{
	"access", "api", "auth", "key", "credential", "creds", "passwd", "password", "secret", "token",
}

const (
	minAssigned = 10  // the shortest value
	stretch     = 96  // more than the bytes between the start of a word and its operator
	ahead       = 160 // more than the 50 characters the rule takes before the word
	behind      = 8   // what may end a value
)

// assignments are the pieces of s worth the generic rule, in order, merged
// where they overlap.
func assignments(s string) []span {
	var out []span
	var run values
	for i := 0; ; i++ {
		next := strings.IndexAny(s[i:], "=>:|,")
		if next < 0 {
			return out
		}
		i += next
		end := run.assigned(s, i+1)
		if end < 0 {
			continue
		}
		from, ok := assignedTo(s, i)
		if !ok {
			continue
		}
		w := span{from: max(0, from-ahead), to: min(len(s), end+behind)}
		if n := len(out); n > 0 && w.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
}

// values remembers where the last run of value characters ended, so that a run
// full of operators is walked once.
type values struct{ end int }

// assigned is the end of the value that begins at i or a few bytes later, or
// -1 when what follows cannot be one. Calls go through s from left to right.
func (v *values) assigned(s string, i int) int {
	for skipped := 0; skipped <= 5 && i < len(s); skipped++ {
		if i >= v.end {
			for v.end = i; v.end < len(s) && isValue(s[v.end]); {
				v.end++
			}
		}
		if v.end-i >= minAssigned {
			return v.end
		}
		if strings.IndexByte("`'\"=", s[i]) < 0 && !isSpace(s[i]) {
			return -1
		}
		i++
	}
	return -1
}

// assignedTo is the start of the words before the operator that ends at i; ok
// when one of the rule's words is among them.
func assignedTo(s string, i int) (from int, ok bool) {
	for n := 0; n < 3 && i > 0 && strings.IndexByte(":=|?", s[i-1]) >= 0; n++ {
		i--
	}
	for n := 0; n < 3 && i > 0 && (s[i-1] == '\'' || s[i-1] == '"' || isSpace(s[i-1])); n++ {
		i--
	}
	from = i
	folds := false // the rule ignores case, and a few other letters fold to ours
	for n := 0; n < stretch && from > 0; n++ {
		c := s[from-1]
		if !isWord(c) && c != ' ' && c != '\t' && c != '.' && c != '-' {
			break
		}
		folds = folds || c >= 0x80
		from--
	}
	if folds {
		return from, true
	}
	words := strings.ToLower(s[from:i])
	for _, w := range genericWords {
		if strings.Contains(words, w) {
			return from, true
		}
	}
	return 0, false
}

func isValue(c byte) bool {
	return isWord(c) || c == '.' || c == '=' || c == '-' || c == '+' || c == '/'
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c >= 0x80
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
