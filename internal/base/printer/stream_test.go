package printer

import (
	"errors"
	"iter"
	"testing"
)

// counted is a stream of a few parts, and then an error, if there is one.
type counted struct {
	n    int
	fail error
}

type number struct {
	N int `json:"n"`
}

func (number) Text(*Writer) {}

func (s counted) Parts() (string, iter.Seq2[Part, error]) {
	return "numbers", func(yield func(Part, error) bool) {
		for i := range s.n {
			part := func(p *Printer) error { return p.PrintLine(number{i}) }
			if !yield(part, nil) || !yield(nil, nil) {
				return
			}
		}
		if s.fail != nil {
			yield(nil, s.fail)
		}
	}
}

func TestAStreamIsAListWhereOneValueIsWanted(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		of   counted
		want string
	}{
		{counted{}, `{"numbers":[]}`},
		{counted{n: 2}, `{"numbers":[{"n":0},{"n":1}]}`},
		{counted{n: 2, fail: broken}, ""},
	} {
		if got, err := Compact(c.of); string(got) != c.want || err != c.of.fail {
			t.Errorf("%+v: %s, %v", c.of, got, err)
		}
	}
}
