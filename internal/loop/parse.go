package loop

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"ramet/internal/history"
)

// partsOf decodes the content of an entry. A conversation of ten thousand messages
// is read at every start, so the usual form, as history.Encode writes it, is read
// by hand, in less than half the time; everything else is left to Entry.Parts. Both
// give the same.
//
// The parts lie in space, as far as there is room.
func partsOf(e history.Entry, space []history.Part) ([]history.Part, error) {
	if parts, ok := parse(e.Content, space); ok {
		return parts, nil
	}
	return e.Parts()
}

// parse reads a list of objects whose members are texts, truths and arguments.
func parse(content []byte, space []history.Part) ([]history.Part, bool) {
	s := scanner{rest: content}
	if !utf8.Valid(content) || !s.take('[') {
		return nil, false
	}
	parts := space
	for {
		parts = append(parts, history.Part{})
		if !s.object(&parts[len(parts)-1]) {
			return nil, false
		}
		if s.take(']') {
			return parts, len(s.rest) == 0
		}
		if !s.take(',') {
			return nil, false
		}
	}
}

type scanner struct{ rest []byte }

func (s *scanner) take(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) object(p *history.Part) bool {
	if !s.take('{') {
		return false
	}
	for {
		key, ok := s.raw()
		if !ok || !s.take(':') || !s.member(p, key) {
			return false
		}
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) member(p *history.Part, key []byte) (ok bool) {
	switch string(key) {
	case "type":
		var text []byte
		text, ok = s.raw()
		p.Type = typeOf(text)
		ok = ok && p.Type != ""
	case "text":
		p.Text, ok = s.text()
	case "signature":
		p.Signature, ok = s.text()
	case "call_id":
		p.CallID, ok = s.text()
	case "name":
		p.Name, ok = s.text()
	case "malformed":
		p.Malformed, ok = s.text()
	case "origin":
		p.Origin, ok = s.text()
	case "show":
		p.Show, ok = s.text()
	case "args":
		p.Args, ok = s.value()
	case "memo":
		p.Memo, ok = s.value()
	case "is_error":
		s.rest, ok = bytes.CutPrefix(s.rest, []byte("true"))
		p.IsError = true
	}
	return ok
}

// typeOf spares a copy for each of the types; others are left to the library.
func typeOf(text []byte) history.PartType {
	switch string(text) {
	case string(history.Text):
		return history.Text
	case string(history.Thinking):
		return history.Thinking
	case string(history.ToolCall):
		return history.ToolCall
	case string(history.Result):
		return history.Result
	case string(history.Image):
		return history.Image
	case string(history.Document):
		return history.Document
	}
	return ""
}

// raw is what stands between quotes, escapes untouched.
func (s *scanner) raw() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			out := s.rest[:i]
			s.rest = s.rest[i+1:]
			return out, true
		case c == '\\':
			i++
		case c < 0x20:
			return nil, false
		}
	}
	return nil, false
}

func (s *scanner) text() (string, bool) {
	raw, ok := s.raw()
	if !ok {
		return "", false
	}
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return string(raw), true
	}
	out := make([]byte, 0, len(raw))
	for i >= 0 {
		out = append(out, raw[:i]...)
		c, ok := escaped(raw[i+1]) // raw does not end in a lone backslash
		if !ok {
			return "", false
		}
		out = append(out, c)
		raw = raw[i+2:]
		i = bytes.IndexByte(raw, '\\')
	}
	return string(append(out, raw...)), true
}

func escaped(c byte) (byte, bool) {
	switch c {
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case '"', '\\', '/':
		return c, true
	}
	return 0, false
}

// value is an object as it stands.
func (s *scanner) value() (json.RawMessage, bool) {
	depth := 0
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			inner := scanner{rest: s.rest[i:]}
			text, ok := inner.raw()
			if !ok {
				return nil, false
			}
			i += len(text) + 1
		}
		if depth == 0 {
			out := bytes.Clone(s.rest[:i+1])
			s.rest = s.rest[i+1:]
			return out, out[0] == '{' && json.Valid(out)
		}
	}
	return nil, false
}
