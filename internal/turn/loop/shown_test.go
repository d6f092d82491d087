package loop

import (
	"strings"
	"testing"
)

// Looking for credentials is done when somebody wants the words, not for every piece; and no
// piece of one is handed out before it was looked at as a whole.
func TestShownWordsAreLookedAtWhenTheyAreWanted(t *testing.T) {
	const key = "sk-0123456789abcdef"
	looks := 0
	s := shown{clean: func(text string) string {
		looks++
		return strings.ReplaceAll(text, key, "[hidden]")
	}}
	said := strings.Repeat("plain words ", 100) + "the key is " + key + " and so on"
	for i := range len(said) {
		s.add(said[i : i+1])
		if i%200 == 0 {
			if got := s.words(); strings.Contains(got, "sk-") {
				t.Fatalf("a piece of the key is out: %q", got[max(0, len(got)-40):])
			}
		}
	}
	if want := strings.ReplaceAll(said, key, "[hidden]"); s.whole() != want {
		t.Errorf("%q", s.whole())
	}
	if looks > len(said)/100 {
		t.Errorf("%d looks at %d pieces", looks, len(said))
	}
}

func TestNoPieceOfAKeyIsHandedOut(t *testing.T) {
	const key = "sk-0123456789abcdef"
	s := shown{clean: func(text string) string { return strings.ReplaceAll(text, key, "[hidden]") }}
	for _, piece := range strings.Split("my key is "+key+" now", "") {
		s.add(piece)
		if got := s.words(); strings.Contains(got, "sk-") {
			t.Fatalf("a piece of the key is out: %q", got)
		}
	}
	if got := s.whole(); got != "my key is [hidden] now" {
		t.Errorf("%q", got)
	}
}

// The journal is told of the first words, and again of those that come after it asked.
func TestTheJournalIsToldUntilItAsks(t *testing.T) {
	s := shown{clean: func(text string) string { return text }}
	for round := range 3 {
		for i := range 5 {
			if tell := s.add("word "); tell != (i == 0) {
				t.Errorf("round %d, piece %d: told %t", round, i, tell)
			}
		}
		if got, want := s.words(), strings.Repeat("word ", 5*(round+1)); got != want {
			t.Errorf("%q", got)
		}
	}
}
