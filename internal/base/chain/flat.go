package chain

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// flat brings an object of plain strings, and of lists of them, into RFC 8785 form: the meta of
// most entries is one, and only the order of its members can be wrong. Of any other text it says
// nothing: ok is false.
func flat(text []byte) (canonical []byte, ok bool) {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' || !utf8.Valid(text) {
		return nil, false
	}
	type member struct{ key, whole []byte }
	var few [16]member
	members := few[:0]
	for rest := text[1 : len(text)-1]; len(rest) > 0; {
		key := quoted(rest)
		if key == 0 || !ascii(rest[:key]) || key == len(rest) || rest[key] != ':' {
			return nil, false
		}
		value := list(rest[key+1:])
		if value == 0 {
			return nil, false
		}
		end := key + 1 + value
		members = append(members, member{rest[1 : key-1], rest[:end]})
		switch rest = rest[end:]; {
		case len(rest) == 0:
		case len(rest) > 1 && rest[0] == ',':
			rest = rest[1:]
		default:
			return nil, false
		}
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	out := append(make([]byte, 0, len(text)), '{')
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(m.key, members[i-1].key) {
				return nil, false
			}
			out = append(out, ',')
		}
		out = append(out, m.whole...)
	}
	return append(out, '}'), true
}

// list is the length of a plain string, or of a list of them, at the beginning of a text; 0: there
// is none.
func list(text []byte) int {
	if len(text) < 2 || text[0] != '[' {
		return quoted(text)
	}
	if text[1] == ']' {
		return 2
	}
	for i := 1; ; i++ {
		n := quoted(text[i:])
		if i += n; n == 0 || i == len(text) {
			return 0
		}
		switch text[i] {
		case ']':
			return i + 1
		case ',':
		default:
			return 0
		}
	}
}

// quoted is the length of a string without escapes at the beginning of a text, with its quotes;
// 0: there is none.
func quoted(text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return 0
	}
	for i, c := range text[1:] {
		switch {
		case c == '"':
			return i + 2
		case c == '\\' || c < ' ':
			return 0
		}
	}
	return 0
}

// ascii says of a key that bytes and UTF-16 sort it alike.
func ascii(key []byte) bool {
	return !slices.ContainsFunc(key, func(c byte) bool { return c >= utf8.RuneSelf })
}
