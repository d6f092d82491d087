package history

import (
	"slices"
	"testing"

	"ramet/internal/base/id"
	"ramet/internal/testkit"
)

// stored makes an entry of a draft.
func stored(t *testing.T, at id.Message, d Draft) Entry {
	t.Helper()
	return Entry{ID: at, Kind: d.Kind, Meta: testkit.Must(d.Meta.Encode())(t)}
}

func TestForeignContentInAContext(t *testing.T) {
	person := func(d Draft) Draft {
		d.Meta.Actor = &Actor{Who: "eva", Face: CLI}
		return d
	}
	// A parent reads a at 5 and b at 9; its child is forked after 7.
	const parent, child = id.Agent("p"), id.Agent("c")
	for name, c := range map[string]struct {
		of   id.Agent
		more []Entry // of that agent
		want []string
	}{
		"it read both":                    {parent, nil, []string{"a", "b"}},
		"the child has what was read":     {child, nil, []string{"a"}},
		"a person clears":                 {parent, []Entry{stored(t, 20, person(NewClear()))}, nil},
		"the child is cleared":            {child, []Entry{stored(t, 20, person(NewClear()))}, nil},
		"a model clears":                  {child, []Entry{stored(t, 20, NewClear())}, []string{"a"}},
		"a person goes back":              {parent, []Entry{stored(t, 20, person(NewRewind(6, "")))}, []string{"a"}},
		"a person goes back before both":  {parent, []Entry{stored(t, 20, person(NewRewind(4, "")))}, nil},
		"a model goes back":               {parent, []Entry{stored(t, 20, NewRewind(4, ""))}, []string{"a", "b"}},
		"and forth again":                 {parent, []Entry{stored(t, 20, person(NewRewind(4, ""))), stored(t, 22, person(NewRewind(9, "")))}, []string{"a", "b"}},
		"it reads after a clear":          {parent, []Entry{stored(t, 20, person(NewClear())), stored(t, 21, NewForeign("c"))}, []string{"c"}},
		"the same again":                  {parent, []Entry{stored(t, 20, NewForeign("b", "c"))}, []string{"a", "b", "c"}},
		"the child goes back to its fork": {child, []Entry{stored(t, 20, person(NewRewind(4, "")))}, nil},
	} {
		line := []Ancestor{{Agent: parent}}
		if c.of == child {
			line = []Ancestor{{Agent: child, Parent: parent, ForkMessage: 7}, line[0]}
		}
		all := map[id.Agent][]Entry{parent: {stored(t, 5, NewForeign("a")), stored(t, 9, NewForeign("b"))}}
		all[c.of] = append(all[c.of], c.more...)
		if got := testkit.Must(ForeignIn(line, all, all))(t); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	long := NewForeign(string(make([]byte, 1000)) + "x\n\x1b[2J")
	if s := long.Meta.Foreign[0]; len(s) > 3*longestSource || slices.Contains([]byte(s), '\x1b') || slices.Contains([]byte(s), 0) {
		t.Errorf("%q", s)
	}
}
