package shape

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions here take apart a text whose syntax is known to be good, so they
// look for ends only.

// nextValue gives the value or key at i and where the next thing is: a value, a key, or
// the bracket that closes.
func nextValue(text []byte, i int) (v []byte, after int) {
	from := skipSpace(text, i)
	to := endOfValue(text, from)
	return text[from:to], skipSpace(text, to)
}

// skipSpace goes over what stands between values.
func skipSpace(text []byte, i int) int {
	for i < len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
		default:
			return i
		}
	}
	return i
}

// endOfValue returns the index behind the value that begins at i.
func endOfValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
			continue
		default:
			for i < len(text) && !endsNumber(text[i]) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

func endsNumber(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '}', ']':
		return true
	}
	return false
}

func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(text))
}

// unquoteText returns the text of a string; mostly that is what stands between the quotes.
func unquoteText(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return text
}

func kindOf(v []byte) kind {
	switch v[0] {
	case '"':
		return stringKind
	case '{':
		return objectKind
	case '[':
		return arrayKind
	case 'n':
		return nullKind
	case 't', 'f':
		return boolKind
	}
	return numberKind
}
