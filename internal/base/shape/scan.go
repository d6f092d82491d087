package shape

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// membersOf yields the names, as they are written, and the values of an object whose syntax is known to be good.
func membersOf(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		var name []byte
		for value := range elementsOf(object) {
			if name == nil {
				name = value
			} else if !yield(name, value) {
				return
			} else {
				name = nil
			}
		}
	}
}

// elementsOf yields the values in a list, or the names and values in an object, whose syntax is known to be good.
func elementsOf(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		dec := jsontext.NewDecoder(bytes.NewBuffer(list), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		dec.ReadToken()
		for kind := dec.PeekKind(); kind != ']' && kind != '}'; kind = dec.PeekKind() {
			value, err := dec.ReadValue()
			if end := dec.InputOffset(); err != nil || !yield(list[end-int64(len(value)):end]) {
				return
			}
		}
	}
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
