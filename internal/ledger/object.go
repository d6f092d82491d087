package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"
)

// Member is one key of an object with its value as text.
type Member struct {
	Key string
	Raw []byte
}

// Object is a JSON object in the order of its keys. Where a key stands twice, the
// last one counts, as it does for other readers.
type Object struct{ Members []Member }

var errNoObject = errors.New("it is no JSON object")

// ParseObject reads a whole document, which must be one object. A byte order mark before
// it is dropped.
func ParseObject(data []byte) (Object, error) {
	if err := WalkJSON(data, Visitor{}); err != nil {
		return Object{}, err
	}
	return ObjectOf(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
}

// syntax says where a text stops being JSON.
func syntax(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is empty")
	}
	var v any
	err := json.Unmarshal(data, &v)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is no JSON at byte %d: %w", at.Offset, err)
	}
	return fmt.Errorf("it is no JSON: %w", err)
}

// ObjectOf splits a value that is known to be valid JSON.
func ObjectOf(raw []byte) (Object, error) {
	if !IsJSONObject(raw) {
		return Object{}, errNoObject
	}
	o := Object{Members: make([]Member, 0, 12)}
	for key, value := range EachMember(raw) {
		o.Members = append(o.Members, Member{textOrdered(key), value})
	}
	return o, nil
}

// IsJSONObject says whether a value that is known to be valid JSON is an object.
func IsJSONObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// EachMember goes through the members of an object that is known to be valid JSON: the key
// with its quotes, and the value. It keeps nothing.
func EachMember(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for i := space(raw, 1); raw[i] != '}'; {
			end := valueOrdered(raw, i)
			key := raw[i:end]
			i = space(raw, space(raw, end)+1) // behind the colon
			end = valueOrdered(raw, i)
			if !yield(key, raw[i:end:end]) {
				return
			}
			i = next(raw, end)
		}
	}
}

// ParseJSONList splits an array that is known to be valid JSON.
func ParseJSONList(raw []byte) ([][]byte, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New("it is no JSON array")
	}
	var out [][]byte
	for i := space(raw, 1); raw[i] != ']'; {
		end := valueOrdered(raw, i)
		out = append(out, raw[i:end:end])
		i = next(raw, end)
	}
	return out, nil
}

// next goes from the end of an element to the next one, or to the closing bracket.
func next(raw []byte, i int) int {
	if i = space(raw, i); raw[i] == ',' {
		i = space(raw, i+1)
	}
	return i
}

func space(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r' {
		i++
	}
	return i
}

// valueOrdered is the end of the value that begins at i.
func valueOrdered(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		return quoted(raw, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch raw[i] {
			case '"':
				i = quoted(raw, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for ; i < len(raw); i++ {
		switch raw[i] {
		case ',', ']', '}', ' ', '\n', '\t', '\r':
			return i
		}
	}
	return i
}

// quoted is the end of the string that begins at i.
func quoted(raw []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(raw[i:], '"')
		backslashes := 0
		for raw[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 { // or the quote is escaped
			return i + 1
		}
	}
}

func textOrdered(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// ParseJSONText is a value that is a string.
func ParseJSONText(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return textOrdered(raw), true
}

// Get is the value of a key.
func (o Object) Get(key string) ([]byte, bool) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Key == key {
			return o.Members[i].Raw, true
		}
	}
	return nil, false
}

// Set replaces the value of a key where it stands, or adds it at the end.
func (o *Object) Set(key string, raw []byte) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Key == key {
			o.Members[i].Raw = raw
			return
		}
	}
	o.Members = append(o.Members, Member{key, raw})
}

// Delete takes every member of that key out.
func (o *Object) Delete(key string) {
	kept := o.Members[:0:0]
	for _, m := range o.Members {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	o.Members = kept
}

// Append writes the object as it stands depth levels inside a document.
func (o Object) Append(out []byte, depth int) []byte {
	if len(o.Members) == 0 {
		return append(out, "{}"...)
	}
	out = append(out, '{')
	for i, m := range o.Members {
		out = line(out, i, depth+1)
		out = append(append(out, QuoteJSON(m.Key)...), ": "...)
		out = append(out, m.Raw...)
	}
	return append(line(out, 0, depth), '}')
}

// AppendJSONList writes an array likewise.
func AppendJSONList(out []byte, elements [][]byte, depth int) []byte {
	if len(elements) == 0 {
		return append(out, "[]"...)
	}
	out = append(out, '[')
	for i, e := range elements {
		out = append(line(out, i, depth+1), e...)
	}
	return append(line(out, 0, depth), ']')
}

// line begins the line of the n-th element.
func line(out []byte, n, depth int) []byte {
	if n > 0 {
		out = append(out, ',')
	}
	out = append(out, '\n')
	for range depth {
		out = append(out, "  "...)
	}
	return out
}

// QuoteJSON is a string as JSON, without the escapes that only pages need.
func QuoteJSON(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
