package tui

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// FuzzyMatch names a candidate that matches.
type FuzzyMatch struct {
	Index int // in the candidates
	Score int // higher reads better
}

// FindFuzzy returns the candidates that match, best first. An empty pattern matches
// all, in their own order.
func FindFuzzy(pattern string, candidates []string) []FuzzyMatch {
	words := parse(pattern)
	found := make([]FuzzyMatch, 0, min(len(candidates), 64))
	for i, candidate := range candidates {
		if score, ok := measure(words, candidate); ok {
			found = append(found, FuzzyMatch{Index: i, Score: score})
		}
	}
	if len(words) > 0 {
		slices.SortStableFunc(found, func(a, b FuzzyMatch) int {
			x, y := candidates[a.Index], candidates[b.Index]
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(x), len(y)), strings.Compare(x, y))
		})
	}
	return found
}

type word struct {
	letters []rune
	exact   bool // it has a capital
}

func parse(pattern string) []word {
	var words []word
	for _, field := range strings.Fields(pattern) {
		words = append(words, word{[]rune(field), strings.ToLower(field) != field})
	}
	return words
}

func measure(words []word, candidate string) (int, bool) {
	text := []rune(candidate)
	total := 0
	for _, w := range words {
		score, ok := w.measure(text)
		if !ok {
			return 0, false
		}
		total += score
	}
	return total, true
}

// What a letter is worth by its position.
const (
	hit      = 16
	atStart  = 12 // of the text, or of a path's last part
	atWord   = 9  // after a separator, or a capital after a small letter
	adjacent = 10
	gapOpen  = 3
	gapMore  = 1
	mostLate = 12 // of the first letter
	whole    = 40 // the pattern is the text, or the last part of the path
	never    = math.MinInt / 2
)

// measure returns the score of the best of all ways in which the letters occur in a text, in order.
func (w word) measure(text []rune) (int, bool) {
	base := 0 // of the last part of a path
	for i := range len(text) - 1 {
		if text[i] == '/' {
			base = i + 1
		}
	}
	folded := slices.Clone(text)
	for i, r := range folded {
		if !w.exact {
			folded[i] = unicode.ToLower(r)
		}
	}
	var last []int // the best score with the letters so far, the last of them here
	for i, letter := range w.letters {
		scores, apart := make([]int, len(text)), never
		for at := range text {
			if i > 0 && at > 1 {
				apart = max(apart-gapMore, last[at-2]-gapOpen)
			}
			scores[at] = never
			switch {
			case folded[at] != letter || i > 0 && at == 0:
			case i == 0:
				scores[at] = hit + bonus(text, at, base) - min(mostLate, at)
			default:
				scores[at] = hit + bonus(text, at, base) + max(apart, last[at-1]+adjacent)
			}
		}
		last = scores
	}
	if len(last) == 0 || slices.Max(last) < never/2 {
		return 0, false
	}
	best := slices.Max(last)
	if slices.Equal(folded, w.letters) || slices.Equal(folded[base:], w.letters) {
		best += whole
	}
	return best, true
}

func bonus(text []rune, at, base int) int {
	switch {
	case at == 0 || at == base:
		return atStart
	case strings.ContainsRune("/-_. :@\\", text[at-1]), unicode.IsLower(text[at-1]) && unicode.IsUpper(text[at]):
		return atWord
	}
	return 0
}
