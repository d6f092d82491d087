package shape

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Take makes of a JSON object what its writer plainly meant: a number or a word of
// truth in quotes is taken for what it is, a list or an object in quotes too, null for a
// member that can be left out means that it is. Members of the object itself that the
// shape does not have are left out, and named. What has the shape already comes back as it is.
// The result need not have the shape: Check says.
func (s *Shape) Take(text []byte) (taken []byte, unknown []string) {
	if s.kind != objectKind || !jsontext.Value(text).IsValid() {
		return text, nil
	}
	v, _ := next(text, 0)
	if kindOf(v) != objectKind {
		return text, nil
	}
	return s.takeObject(v, true)
}

func (s *Shape) take(v []byte) []byte {
	k := kindOf(v)
	if k == stringKind && s.kind != stringKind {
		plain := bytes.TrimSpace(unquote(v))
		if s.isMeant(plain) {
			v, k = plain, s.kind
		}
	}
	switch {
	case s.kind == objectKind && k == objectKind:
		v, _ = s.takeObject(v, false)
	case s.kind == arrayKind && k == arrayKind:
		v = s.takeArray(v)
	}
	return v
}

// isMeant says whether what stood in quotes is a value of the shape's kind.
func (s *Shape) isMeant(plain []byte) bool {
	switch s.kind {
	case integerKind, numberKind:
		_, err := strconv.ParseFloat(string(plain), 64)
		return err == nil && jsontext.Value(plain).IsValid()
	case boolKind:
		return string(plain) == "true" || string(plain) == "false"
	case objectKind, arrayKind:
		return jsontext.Value(plain).IsValid() && kindOf(plain) == s.kind
	}
	return false
}

func (s *Shape) takeObject(v []byte, drop bool) ([]byte, []string) {
	out := []byte{'{'}
	var unknown []string
	same := true
	for i := skip(v, 1); v[i] != '}'; {
		var key, value []byte
		key, i = next(v, i)
		value, i = next(v, i)
		f := s.member(unquote(key))
		if f == nil && !s.open && drop {
			unknown = append(unknown, string(unquote(key)))
			continue
		}
		taken := value
		if f != nil {
			if f.Optional && kindOf(value) == nullKind && !f.Shape.fits(nullKind) {
				same = false
				continue
			}
			taken = f.Shape.take(value)
		}
		same = same && bytes.Equal(taken, value)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), taken...)
	}
	if same && unknown == nil {
		return v, nil
	}
	return append(out, '}'), unknown
}

func (s *Shape) takeArray(v []byte) []byte {
	out := []byte{'['}
	for i := skip(v, 1); v[i] != ']'; {
		var value []byte
		value, i = next(v, i)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, s.elem.take(value)...)
	}
	return append(out, ']')
}

func (s *Shape) member(name []byte) *Field {
	for j := range s.fields {
		if s.fields[j].Name == string(name) {
			return &s.fields[j]
		}
	}
	return nil
}

// Fields are the members that an object can have, in order.
func (s *Shape) Fields() []Field { return s.fields }
