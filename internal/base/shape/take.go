package shape

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Unknown is a member that an object has and its shape has not.
type Unknown struct {
	In   string // where the object stands, as Path tells it; empty: it is the whole
	Name string
	Of   *Shape // what the object should look like
}

// Path returns where the member stands: steps[2].state.
func (u Unknown) Path() string {
	if u.In == "" {
		return u.Name
	}
	return u.In + "." + u.Name
}

// Take makes of a JSON object what its writer plainly meant: a number or a word of
// truth in quotes is taken for what it is, a list or an object in quotes too, a number where
// a text should be for its text, one thing for a list of one, and null for a member that can be
// left out means that it is. Members that the shape does not have are left out, and named.
// What has the shape already comes back as it is. The result need not have the shape: Check says.
func (s *Shape) Take(text []byte) (taken []byte, unknown []Unknown) {
	if s.kind != objectKind || !jsontext.Value(text).IsValid() {
		return text, nil
	}
	v := bytes.TrimSpace(text)
	if kindOf(v) != objectKind {
		return text, nil
	}
	return s.takeObject(v, "")
}

func (s *Shape) take(v []byte, at string) ([]byte, []Unknown) {
	k := kindOf(v)
	if k == stringKind && s.kind != stringKind {
		plain := bytes.TrimSpace(unquoteText(v))
		if s.isMeant(plain) {
			v, k = plain, s.kind
		}
	}
	switch {
	case s.kind == objectKind && k == objectKind:
		return s.takeObject(v, at)
	case s.kind == arrayKind && k == arrayKind:
		return s.takeArray(v, at)
	case s.kind == arrayKind && (s.elem.kind == k || s.elem.kind == stringKind && k == numberKind): // one thing is a list of one
		one, unknown := s.elem.take(v, at+"[0]")
		return slices.Concat([]byte{'['}, one, []byte{']'}), unknown
	case s.kind == stringKind && k == numberKind:
		return slices.Concat([]byte{'"'}, v, []byte{'"'}), nil
	}
	return v, nil
}

// isMeant reports whether what stood in quotes is a value of the shape's kind.
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

func (s *Shape) takeObject(v []byte, at string) ([]byte, []Unknown) {
	out := []byte{'{'}
	var unknown []Unknown
	same := true
	for key, value := range membersOf(v) {
		here := Unknown{In: at, Name: string(unquoteText(key)), Of: s}
		f := s.member(unquoteText(key))
		if f == nil && !s.open {
			unknown = append(unknown, here)
			same = false
			continue
		}
		taken := value
		if f != nil {
			if f.Optional && kindOf(value) == nullKind && !f.Shape.fits(nullKind) {
				same = false
				continue
			}
			var inside []Unknown
			taken, inside = f.Shape.take(value, here.Path())
			unknown = append(unknown, inside...)
		}
		same = same && bytes.Equal(taken, value)
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), taken...)
	}
	if same {
		return v, nil
	}
	return append(out, '}'), unknown
}

func (s *Shape) takeArray(v []byte, at string) ([]byte, []Unknown) {
	out := []byte{'['}
	var unknown []Unknown
	n := 0
	for value := range elementsOf(v) {
		if n > 0 {
			out = append(out, ',')
		}
		one, inside := s.elem.take(value, at+"["+strconv.Itoa(n)+"]")
		out, unknown, n = append(out, one...), append(unknown, inside...), n+1
	}
	return append(out, ']'), unknown
}

func (s *Shape) member(name []byte) *Field {
	for j := range s.fields {
		if s.fields[j].Name == string(name) {
			return &s.fields[j]
		}
	}
	return nil
}

// Fields returns the members that an object can have, in order.
func (s *Shape) Fields() []Field { return s.fields }

// Elements returns the shape of a list's elements; nil: it is no list.
func (s *Shape) Elements() *Shape { return s.elem }

// Words returns the texts that a shape allows; none: it allows all, or is no text.
func (s *Shape) Words() []string { return s.enum }
