package facts

import (
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// table is a TOML document with the places of its keys.
type table struct {
	root  map[string]any
	spans map[string]span // by dotted key; an element of [[x]] is x.0, x.1 …
}

type span struct{ from, to int } // offsets, to is behind the last byte

// parseTOML reads a document; nil where it is not TOML, or nested so deep that the parser
// could not bear it.
func parseTOML(text string) *table {
	if len(text) > 256<<10 {
		return nil
	}
	spans, ok := tomlSpans(text)
	if !ok {
		return nil
	}
	t := &table{spans: spans}
	if _, err := toml.Decode(text, &t.root); err != nil {
		return nil
	}
	return t
}

func (t *table) get(keys ...string) any {
	var v any = t.root
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func (t *table) text(keys ...string) string {
	s, _ := t.get(keys...).(string)
	return s
}

func (t *table) table(keys ...string) map[string]any {
	m, _ := t.get(keys...).(map[string]any)
	return m
}

// where finds the lines of a key, or of the nearest table around it.
func (t *table) where(s *source, keys ...string) (from, to int) {
	for n := len(keys); n > 0; n-- {
		if sp, ok := t.spans[strings.Join(keys[:n], "\x00")]; ok {
			return s.lineAt(sp.from), s.lineAt(max(sp.from, sp.to-1))
		}
	}
	return 1, 1
}

// tomlSpans finds the keys of a document without understanding the values.
func tomlSpans(text string) (map[string]span, bool) {
	spans := map[string]span{}
	var prefix []string
	counts := map[string]int{}
	for at := 0; at < len(text); {
		line := at
		for at < len(text) && isSpace(text[at]) {
			if at++; text[at-1] == '\n' {
				line = at
			}
		}
		if at >= len(text) {
			break
		}
		switch {
		case text[at] == '#':
			at = lineEnd(text, at)
		case text[at] == '[':
			end := lineEnd(text, at)
			head := strings.TrimSpace(text[at:end])
			double := strings.HasPrefix(head, "[[")
			keys, _, ok := tomlKey(strings.TrimLeft(head, "[ \t"), ']')
			if !ok {
				return nil, false
			}
			prefix = keys
			if double {
				name := strings.Join(keys, "\x00")
				prefix = append(prefix, strconv.Itoa(counts[name]))
				counts[name]++
			}
			spans[strings.Join(prefix, "\x00")] = span{line, end}
			at = end
		default:
			keys, n, ok := tomlKey(text[at:], '=')
			if !ok {
				return nil, false
			}
			end, ok := tomlValue(text, at+n)
			if !ok {
				return nil, false
			}
			spans[strings.Join(append(prefix[:len(prefix):len(prefix)], keys...), "\x00")] = span{line, end}
			at = end
		}
	}
	return spans, true
}

func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// tomlKey reads a dotted key up to the end mark and says how far it went, behind the mark.
func tomlKey(s string, end byte) (keys []string, n int, ok bool) {
	var part strings.Builder
	for n < len(s) && len(keys) < 32 {
		switch c := s[n]; {
		case c == end:
			return append(keys, part.String()), n + 1, true
		case c == '.':
			keys = append(keys, part.String())
			part.Reset()
		case c == '"' || c == '\'':
			close := strings.IndexByte(s[n+1:], c)
			if close < 0 {
				return nil, 0, false
			}
			part.WriteString(s[n+1 : n+1+close])
			n += close + 1
		case c == '\n':
			return nil, 0, false
		case c != ' ' && c != '\t':
			part.WriteByte(c)
		}
		n++
	}
	return nil, 0, false
}

// tomlValue finds the end of a value: brackets may span lines, strings may hide them.
func tomlValue(text string, at int) (end int, ok bool) {
	depth := 0
	for at < len(text) {
		switch c := text[at]; c {
		case '\n':
			if depth == 0 {
				return at, true
			}
		case '[', '{':
			if depth++; depth > 32 {
				return 0, false
			}
		case ']', '}':
			depth--
		case '#':
			at = lineEnd(text, at)
			continue
		case '"', '\'':
			mark := string(c)
			if strings.HasPrefix(text[at:], mark+mark+mark) {
				mark = mark + mark + mark
			}
			at += len(mark)
			for at < len(text) && !strings.HasPrefix(text[at:], mark) {
				if c == '"' && text[at] == '\\' {
					at++
				} else if len(mark) == 1 && text[at] == '\n' {
					return 0, false
				}
				at++
			}
			at += len(mark) - 1
		}
		at++
	}
	return len(text), true
}
