package session

import "testing"

func FuzzQuote(f *testing.F) {
	f.Add(`a "b" \ 'c' --d`)
	f.Fuzz(func(t *testing.T, s string) {
		w, ok := nextWord(QuoteWord(s), 0)
		if !ok || w.text != s || w.open != 0 || w.end != len(QuoteWord(s)) {
			t.Errorf("%q became %q", s, w.text)
		}
	})
}
