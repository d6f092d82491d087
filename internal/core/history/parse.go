package history

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/shape"
)

// parse reads the usual form of a content, as Encode writes it: a list of objects whose members are texts,
// truths and arguments. false: it is something else, which encoding/json has to read, or to refuse; both
// give the same. A conversation of ten thousand messages is read at every start, and this takes less than
// half the time. The parts lie in space, as far as there is room.
func parse(content []byte, space []Part) ([]Part, bool) {
	s := scanner{rest: content, most: len(content) / 2}
	if !utf8.Valid(content) || !s.take('[') {
		return nil, false
	}
	parts := space
	for {
		parts = append(parts, Part{})
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

type scanner struct {
	rest []byte
	most int // bytes: what is longer lies where it was read, see lies
}

// lies gives bytes of a content as a text. They stay where they are if they are most of it, and not only a
// few that would keep all of it in memory. Nobody changes the content of an entry once it is read.
func (s *scanner) lies(raw []byte) string {
	if len(raw) > s.most {
		return unsafe.String(&raw[0], len(raw))
	}
	return string(raw)
}

func (s *scanner) take(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) object(p *Part) bool {
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

func (s *scanner) member(p *Part, key []byte) (ok bool) {
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
func typeOf(text []byte) PartType {
	switch string(text) {
	case string(Text):
		return Text
	case string(Thinking):
		return Thinking
	case string(ToolCall):
		return ToolCall
	case string(Result):
		return Result
	case string(Image):
		return Image
	case string(Document):
		return Document
	case string(Facts):
		return Facts
	case string(Search):
		return Search
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
	quoted := s.rest
	raw, ok := s.raw()
	if !ok {
		return "", false
	}
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return s.lies(raw), true
	}
	var out strings.Builder
	out.Grow(len(raw) - 1)
	for i >= 0 {
		out.Write(raw[:i])
		c, ok := escaped(raw[i+1]) // raw does not end in a lone backslash
		if !ok {                   // by its number
			whole, err := jsontext.AppendUnquote(nil, quoted[:len(quoted)-len(s.rest)])
			return string(whole), err == nil
		}
		out.WriteByte(c)
		raw = raw[i+2:]
		i = bytes.IndexByte(raw, '\\')
	}
	out.Write(raw)
	return out.String(), true
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
			out := s.rest[: i+1 : i+1]
			if s.rest = s.rest[i+1:]; len(out) <= s.most {
				out = bytes.Clone(out)
			}
			return out, out[0] == '{' && shape.Valid(out)
		}
	}
	return nil, false
}
