package text_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"ramet/internal/base/text"
)

// The library's is what everything was written with before: the same bytes, or neither.
func sameQuotes(t *testing.T, s string) {
	t.Helper()
	want, err := jsontext.AppendQuote([]byte("x"), s)
	got, ok := text.AppendQuoted([]byte("x"), s)
	if ok != (err == nil) || ok && string(got) != string(want) || !ok && string(got) != "x" {
		t.Errorf("%q: %q, %v; the library: %q, %v", s, got, ok, want, err)
	}
}

func TestQuotesAreTheLibrarys(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			for _, before := range []string{"a", "\x7f", "\x1f", "ü", `"`} {
				sameQuotes(t, strings.Repeat(before, at)+string([]byte{byte(c)})+"0123456789")
			}
		}
	}
	for _, s := range []string{"", "plain", "\u2028\u2029<>&\u0085", "€uro \x00 \ufffd", "\xed\xa0\x80", "ends \xc3", "\U0001F600\\\"\b\f\n\r\t"} {
		sameQuotes(t, s)
	}
}

func FuzzAppendQuoted(f *testing.F) {
	f.Add("a\"b\\c\n\x00é€\U0001F600\xff")
	f.Fuzz(sameQuotes)
}

func BenchmarkAppendQuoted(b *testing.B) {
	said := strings.Repeat("The quick brown fox jumps over the lazy dog,\nand so on. ", 40)[:2000]
	buf := make([]byte, 0, 4096)
	b.SetBytes(int64(len(said)))
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(said)))
		for b.Loop() {
			buf, _ = text.AppendQuoted(buf[:0], said)
		}
	})
	b.Run("the library's", func(b *testing.B) {
		b.SetBytes(int64(len(said)))
		for b.Loop() {
			buf, _ = jsontext.AppendQuote(buf[:0], said)
		}
	})
}
