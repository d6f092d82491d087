package permit

import (
	"maps"
	"slices"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
)

// Mode names how the calls of an agent are permitted.
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

// Next returns the mode that the key goes to.
func (m Mode) Next() Mode {
	all := Modes()
	return all[(slices.Index(all, m)+1)%len(all)] // the first, if it is none
}

// Title returns the mode for people.
func (m Mode) Title() string {
	if m == Edits {
		return "accept edits"
	}
	return string(m)
}

// otherNames maps the names that people and older settings use for modes.
var otherNames = map[string]Mode{"sandbox": Box, "plan": ReadOnly, "readonly": ReadOnly, "accept edits": Edits, "accept-edits": Edits, "acceptedits": Edits}

// ModeNames returns all words that ParseMode reads: first our own.
func ModeNames() []string {
	var own []string
	for _, m := range Modes() {
		own = append(own, string(m))
	}
	return append(own, slices.Sorted(maps.Keys(otherNames))...)
}

// ParseMode reads a mode.
func ParseMode(s string) (Mode, error) {
	word := strings.ToLower(strings.TrimSpace(s))
	if m := Mode(word); slices.Contains(Modes(), m) {
		return m, nil
	}
	if m, ok := otherNames[word]; ok {
		return m, nil
	}
	names := ModeNames()
	return "", fault.New(fault.InvalidField, "%.40q is not a mode", s).
		WithHint("%s", text.NearestHint(word, names, "the modes are: "+strings.Join(names[:len(Modes())], ", ")))
}
