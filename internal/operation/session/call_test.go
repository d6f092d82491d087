package session

import (
	"testing"

	"ramet/internal/base/fault"
)

func TestWhatCallsACommand(t *testing.T) {
	for said, want := range map[string]struct {
		name, rest string
		calls, is  bool
	}{
		"/review":           {"review", "", true, true},
		"/git:look a  b\n":  {"git:look", "a  b", true, true},
		"/über\tx":          {"über", "x", true, true},
		"/v1.2-x_y z":       {"v1.2-x_y", "z", true, true},
		"/etc/hosts is odd": {"etc/hosts", "is odd", true, false},
		"/* a comment */":   {"*", "a comment */", true, false},
		"// so":             {"/", "so", true, false},
		"/x+/ matches":      {"x+/", "matches", true, false},
		"/2 of it":          {"2", "of it", true, false},
		" /review":          {},
		"/ alone":           {},
		"/":                 {},
		"review":            {},
	} {
		name, rest, ok := FormatCommand(said)
		if !ok {
			name, rest = "", ""
		}
		if name != want.name || rest != want.rest || ok != want.calls || ok && IsCommandName(name) != want.is {
			t.Errorf("%q: %q %q %v %v", said, name, rest, ok, IsCommandName(name))
		}
	}
}

func TestAnUnknownCommandNamesTheNearest(t *testing.T) {
	known := []string{"review", "git:look", "reviews", "deploy"}
	for name, want := range map[string]string{
		"reviewe":   "unknown command /reviewe: did you mean /review or /reviews? to send it as text, start with a space",
		"look":      "unknown command /look: did you mean /git:look? to send it as text, start with a space",
		"xyzzy":     "unknown command /xyzzy: to send it as text, start with a space",
		"\x1b[2Jhi": "unknown command /␛[2Jhi: to send it as text, start with a space",
	} {
		e := UnknownCommand(name, known)
		if e.Code != fault.Usage || e.Message+": "+e.Hint != want {
			t.Errorf("%q: %s: %s", name, e.Message, e.Hint)
		}
	}
}
