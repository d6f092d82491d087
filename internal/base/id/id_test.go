package id

import (
	"strings"
	"testing"
)

func TestNewAgentsAreDistinctAndParse(t *testing.T) {
	seen := map[Agent]bool{}
	for range 2000 {
		a := NewAgent()
		if seen[a] {
			t.Fatalf("%s drawn twice", a)
		}
		seen[a] = true
		if p, err := ParseAgent(string(a)); err != nil || p != a {
			t.Fatalf("ParseAgent(%s) = %s, %v", a, p, err)
		}
		if !IsPrefix(string(a)) || !IsPrefix(a.Short()) || !strings.HasPrefix(string(a), a.Short()) {
			t.Fatalf("%s: short form %s", a, a.Short())
		}
	}
}

func TestParseAgentRefusesWhatIsNone(t *testing.T) {
	for _, s := range []string{
		"", "0", "short", strings.Repeat("A", 21), strings.Repeat("A", 23),
		"-AAAAAAAAAAAAAAAAAAAAA", "_AAAAAAAAAAAAAAAAAAAAA", // would look like flags
		"AAAAAAAAAAAAAAAAAAAAAB", // stray bits behind the 16th byte
		"AAAAAAAAAA AAAAAAAAAAA", "AAAAAAAAAA+AAAAAAAAAA/", "ÄAAAAAAAAAAAAAAAAAAAA",
	} {
		if a, err := ParseAgent(s); err == nil {
			t.Errorf("ParseAgent(%q) = %s", s, a)
		}
	}
}

func TestParseMessage(t *testing.T) {
	if m, err := ParseMessage("9223372036854775807"); err != nil || m.String() != "9223372036854775807" {
		t.Errorf("largest id: %v, %v", m, err)
	}
	for _, s := range []string{"", "0", "-1", "1.5", "x", "9223372036854775808", " 1"} {
		if m, err := ParseMessage(s); err == nil {
			t.Errorf("ParseMessage(%q) = %v", s, m)
		}
	}
}
