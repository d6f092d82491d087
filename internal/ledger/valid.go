package ledger

import "bytes"

// deepest is how deep values may stand in each other, as for encoding/json.
const deepest = 10000

// Visitor is told of what Walk goes over, when it is behind it: what is inside comes
// before what it is in. A nil function is not called.
type Visitor struct {
	// Member of an object. depth is that of the object, 1 for the document itself; the
	// key has its quotes.
	Member func(depth int, key, value []byte)
	// Element of an array, likewise.
	Element func(depth int, value []byte)
}

// WalkJSON checks that a text is one JSON value with nothing but space around it, and shows
// its parts on the way: a ledger is read before every update, so it is gone over once.
// After an error what was shown does not count. A byte order mark is passed over.
func WalkJSON(data []byte, visit Visitor) error {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !valid(data, visit) {
		return syntax(data)
	}
	return nil
}

// valid is json.Valid, several times as fast.
func valid(b []byte, visit Visitor) bool {
	v := checker{b: b, visit: visit}
	v.space()
	if !v.value(0) {
		return false
	}
	v.space()
	return v.i == len(b)
}

// checker is at byte i. Its methods go over what they are named after and say whether
// it was there.
type checker struct {
	b     []byte
	i     int
	visit Visitor
}

func (v *checker) space() {
	for v.i < len(v.b) && (v.b[v.i] == ' ' || v.b[v.i] == '\n' || v.b[v.i] == '\t' || v.b[v.i] == '\r') {
		v.i++
	}
}

// is goes over one byte, if it is this one.
func (v *checker) is(c byte) bool {
	if v.i < len(v.b) && v.b[v.i] == c {
		v.i++
		return true
	}
	return false
}

func (v *checker) value(depth int) bool {
	if v.i >= len(v.b) {
		return false
	}
	switch v.b[v.i] {
	case '"':
		return v.text()
	case '{':
		return v.list('}', depth+1)
	case '[':
		return v.list(']', depth+1)
	case 't':
		return v.word("true")
	case 'f':
		return v.word("false")
	case 'n':
		return v.word("null")
	}
	return v.number()
}

func (v *checker) word(w string) bool {
	if len(v.b)-v.i < len(w) || string(v.b[v.i:v.i+len(w)]) != w {
		return false
	}
	v.i += len(w)
	return true
}

// list is an object or an array, by its last bracket.
func (v *checker) list(end byte, depth int) bool {
	if depth > deepest {
		return false
	}
	v.i++
	v.space()
	if v.is(end) {
		return true
	}
	for {
		var key []byte
		if from := v.i; end == '}' {
			if v.i >= len(v.b) || v.b[v.i] != '"' || !v.text() {
				return false
			}
			key = v.b[from:v.i]
			v.space()
			if !v.is(':') {
				return false
			}
			v.space()
		}
		from := v.i
		if !v.value(depth) {
			return false
		}
		v.show(depth, key, v.b[from:v.i:v.i])
		v.space()
		if v.is(end) {
			return true
		}
		if !v.is(',') {
			return false
		}
		v.space()
	}
}

func (v *checker) show(depth int, key, value []byte) {
	switch {
	case key != nil && v.visit.Member != nil:
		v.visit.Member(depth, key, value)
	case key == nil && v.visit.Element != nil:
		v.visit.Element(depth, value)
	}
}

// text is a string; bytes that are no UTF-8 are let through, as encoding/json does.
func (v *checker) text() bool {
	b := v.b
	for i := v.i + 1; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			v.i = i + 1
			return true
		case c < 0x20:
			return false
		case c == '\\':
			i++
			if i >= len(b) {
				return false
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if len(b)-i < 5 || !hex(b[i+1]) || !hex(b[i+2]) || !hex(b[i+3]) || !hex(b[i+4]) {
					return false
				}
				i += 4
			default:
				return false
			}
		}
	}
	return false
}

func hex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (v *checker) digits() bool {
	from := v.i
	for v.i < len(v.b) && v.b[v.i] >= '0' && v.b[v.i] <= '9' {
		v.i++
	}
	return v.i > from
}

func (v *checker) number() bool {
	v.is('-')
	if !v.is('0') && !v.digits() {
		return false
	}
	if v.is('.') && !v.digits() {
		return false
	}
	if v.is('e') || v.is('E') {
		if !v.is('+') {
			v.is('-')
		}
		return v.digits()
	}
	return true
}
