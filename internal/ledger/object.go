package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is one key of an object with its value as text.
type Member struct {
	Key string
	Raw []byte
}

// Object is a JSON object in the order of its keys. Of a key that appears twice the last one counts, as for other
// readers.
type Object struct{ Members []Member }

var errNoObject = errors.New("it is not JSON object")

// ParseObject reads a whole document, which must be one object. A byte order mark before
// it is dropped.
func ParseObject(data []byte) (Object, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !json.Valid(data) {
		return Object{}, syntaxError(data)
	}
	return ObjectOf(bytes.TrimSpace(data))
}

// syntaxError reports the place where a text stops being JSON.
func syntaxError(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is empty")
	}
	var v any
	err := json.Unmarshal(data, &v)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON at byte %d: %w", at.Offset, err)
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// ObjectOf splits a value that is known to be valid JSON.
func ObjectOf(raw []byte) (Object, error) {
	if !IsJSONObject(raw) {
		return Object{}, errNoObject
	}
	parts, err := splitJSON(raw)
	if err != nil {
		return Object{}, err
	}
	var o Object
	for i := 0; i < len(parts); i += 2 {
		o.Members = append(o.Members, Member{textOrdered(parts[i]), parts[i+1]})
	}
	return o, nil
}

// IsJSONObject reports whether a value that is known to be valid JSON is an object.
func IsJSONObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// ParseJSONList splits an array that is known to be valid JSON.
func ParseJSONList(raw []byte) ([][]byte, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New("it is not JSON array")
	}
	return splitJSON(raw)
}

// splitJSON returns the elements of an array, or the keys and values of an object, as they are written.
func splitJSON(raw []byte) (parts [][]byte, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for kind := dec.PeekKind(); kind != '}' && kind != ']'; kind = dec.PeekKind() {
		part, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(dec.InputOffset()) // the decoder's own slice does not last
		parts = append(parts, raw[end-len(part):end:end])
	}
	return parts, nil
}

func textOrdered(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// ParseJSONText returns the text of a value that is a string.
func ParseJSONText(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return textOrdered(raw), true
}

// Get returns the value of a key.
func (o Object) Get(key string) ([]byte, bool) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Key == key {
			return o.Members[i].Raw, true
		}
	}
	return nil, false
}

// Set replaces the value of a key in its place, or adds it at the end.
func (o *Object) Set(key string, raw []byte) {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Key == key {
			o.Members[i].Raw = raw
			return
		}
	}
	o.Members = append(o.Members, Member{key, raw})
}

// Delete removes every member with a key.
func (o *Object) Delete(key string) {
	kept := o.Members[:0:0]
	for _, m := range o.Members {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	o.Members = kept
}

// Append appends the object, indented for a place depth levels inside a document.
func (o Object) Append(out []byte, depth int) []byte {
	if len(o.Members) == 0 {
		return append(out, "{}"...)
	}
	out = append(out, '{')
	for i, m := range o.Members {
		out = appendLine(out, i, depth+1)
		out = append(append(out, QuoteJSON(m.Key)...), ": "...)
		out = append(out, m.Raw...)
	}
	return append(appendLine(out, 0, depth), '}')
}

// AppendJSONList appends an array in the same way.
func AppendJSONList(out []byte, elements [][]byte, depth int) []byte {
	if len(elements) == 0 {
		return append(out, "[]"...)
	}
	out = append(out, '[')
	for i, e := range elements {
		out = append(appendLine(out, i, depth+1), e...)
	}
	return append(appendLine(out, 0, depth), ']')
}

// appendLine begins the line of the n-th element.
func appendLine(out []byte, n, depth int) []byte {
	if n > 0 {
		out = append(out, ',')
	}
	out = append(out, '\n')
	for range depth {
		out = append(out, "  "...)
	}
	return out
}

// QuoteJSON returns a string as JSON, without the escapes that only HTML needs.
func QuoteJSON(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
