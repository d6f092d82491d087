package docs

import (
	_ "embed"
	"iter"
	"strings"
	"sync"
	"unicode"
)

//go:embed common.txt
var commonText string

// common are the stems of words that claim nothing by themselves.
var common = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(commonText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			out[word] = true
			out[StemWord(word)] = true
		}
	}
	return out
})

// CommonWords reports whether a word claims nothing by itself.
func CommonWords(word string) bool {
	word = strings.ToLower(word)
	return common()[word] || common()[StemWord(word)]
}

// words are the words of a text in small letters; names in camel case and with underscores
// are several.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, before := -1, rune(0)
		for i, r := range text {
			letter := unicode.IsLetter(r) || unicode.IsMark(r)
			hump := letter && unicode.IsUpper(r) && unicode.IsLower(before)
			if start >= 0 && (!letter || hump) {
				if !yield(strings.ToLower(text[start:i])) {
					return
				}
				start = -1
			}
			if letter && start < 0 {
				start = i
			}
			before = r
		}
		if start >= 0 {
			yield(strings.ToLower(text[start:]))
		}
	}
}

// endings that are cut off a word, the longer ones first, with what stays at least.
var endings = []struct {
	cut, put string
	stays    int
}{
	{"ations", "", 4}, {"ation", "", 4}, {"ments", "", 4}, {"ment", "", 4}, {"ness", "", 4}, {"edly", "", 3},
	{"ings", "", 2}, {"ing", "", 2}, {"ions", "", 4}, {"ion", "", 4}, {"ied", "y", 2}, {"ies", "y", 2}, {"ers", "", 3}, {"er", "", 3},
	{"ors", "", 4}, {"or", "", 4}, {"ed", "", 2}, {"ly", "", 3}, {"es", "", 2}, {"s", "", 2},
}

// StemWord returns a common stem of related words. It is a rule of thumb for English; words of other languages are
// compared nearly as they are.
func StemWord(word string) string {
	word = strings.ToLower(word)
	for _, e := range endings {
		rest, ok := strings.CutSuffix(word, e.cut)
		if ok && len(rest) >= e.stays && !(e.cut == "s" && strings.HasSuffix(rest, "s")) {
			word = rest + e.put
			break
		}
	}
	if rest, ok := strings.CutSuffix(word, "e"); ok && len(rest) >= 2 {
		word = rest
	}
	if rest, ok := strings.CutSuffix(word, "y"); ok && len(rest) >= 2 {
		word = rest + "i"
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && word[n-1] != 's' && word[n-1] != 'l' {
		word = word[:n-1]
	}
	return word
}
