package permit

import (
	"slices"
	"strings"

	"ramet/internal/fault"
	"ramet/internal/nearest"
)

// Mode is how the calls of an agent are permitted.
type Mode string

// The modes, in the order in which one key goes through them.
const (
	Ask      Mode = "ask"
	Edits    Mode = "edits" // accept edits
	Box      Mode = "box"
	ReadOnly Mode = "read-only" // plan
)

// Modes lists them.
func Modes() []Mode { return []Mode{Ask, Edits, Box, ReadOnly} }

// Next is the mode that the key goes to.
func (m Mode) Next() Mode {
	all := Modes()
	return all[(slices.Index(all, m)+1)%len(all)] // the first, if it is none
}

// Title is the mode for people.
func (m Mode) Title() string {
	if m == Edits {
		return "accept edits"
	}
	return string(m)
}

// otherNames are what people and older settings call modes.
var otherNames = map[string]Mode{"sandbox": Box, "plan": ReadOnly, "readonly": ReadOnly, "accept edits": Edits, "accept-edits": Edits, "acceptedits": Edits}

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	word := strings.ToLower(strings.TrimSpace(s))
	if m := Mode(word); slices.Contains(Modes(), m) {
		return m, nil
	}
	if m, ok := otherNames[word]; ok {
		return m, nil
	}
	f := fault.New(fault.InvalidField, "%.40q is no mode", s)
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	if near := nearest.Word(word, names); near != "" {
		return "", f.WithHint("did you mean %q?", near)
	}
	return "", f.WithHint("the modes are: %s", strings.Join(names, ", "))
}
