package tui

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FuzzyMatch is one candidate that fits.
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
	total := 0
	for _, w := range words {
		score, ok := w.measure(candidate)
		if !ok {
			return 0, false
		}
		total += score
	}
	return total, true
}

// What a letter is worth by where it stands.
const (
	hit      = 16
	atStart  = 12 // of the text, or of a path's last part
	atWord   = 9  // after a separator, or a capital after a small letter
	adjacent = 10
	gapOpen  = 3
	gapMore  = 1
	mostGap  = 12
	whole    = 40 // the pattern is the text, or the last part of the path
)

// tries bounds the starting points that are tried in one candidate.
const tries = 8

// measure scores the best of the first few ways in which the letters fit: one for
// each place where the first letter stands, each then greedy, preferring
// neighbours. That is linear, and on short texts as good as trying all.
func (w word) measure(candidate string) (int, bool) {
	best, bestStart := 0, -1
	base := strings.LastIndexByte(strings.TrimSuffix(candidate, "/"), '/') + 1
	start := w.index(candidate, 0, w.letters[0])
	for n := 0; start >= 0 && n < tries; n++ {
		score, ok := w.from(candidate, start, base)
		if !ok {
			break // later starts have fewer letters after them
		}
		if bestStart < 0 || score > best {
			best, bestStart = score, start
		}
		if n == 0 && base > start { // the last part of a path is looked at in any case
			if at := w.index(candidate, base, w.letters[0]); at > start {
				if score, ok := w.from(candidate, at, base); ok && score > best {
					best, bestStart = score, at
				}
			}
		}
		_, size := utf8.DecodeRuneInString(candidate[start:])
		start = w.index(candidate, start+size, w.letters[0])
	}
	if bestStart < 0 {
		return 0, false
	}
	return best, true
}

// from scores the fit that begins at start.
func (w word) from(candidate string, start, base int) (int, bool) {
	score, at, end := 0, start, -1
	for i, letter := range w.letters {
		if i > 0 {
			if at = w.next(candidate, end, letter); at < 0 {
				return 0, false
			}
		}
		r, size := utf8.DecodeRuneInString(candidate[at:])
		score += hit + bonus(candidate, at, base, r)
		switch {
		case i > 0 && at == end:
			score += adjacent
		case i > 0:
			score -= gapOpen + min(mostGap, gapMore*(at-end))
		}
		end = at + size
	}
	if end == len(candidate) && (start == 0 || start == base) && end-start == w.bytes() {
		score += whole
	}
	return score - min(mostGap, start), true
}

func (w word) bytes() int {
	n := 0
	for _, r := range w.letters {
		n += utf8.RuneLen(r)
	}
	return n
}

// next is where a letter after the first goes: beside the last one, else at the
// beginning of a word not far off, else the next place.
func (w word) next(candidate string, end int, letter rune) int {
	at := w.index(candidate, end, letter)
	if at <= end {
		return at
	}
	for try, n := at, 0; try >= 0 && n < 3; n++ {
		r, size := utf8.DecodeRuneInString(candidate[try:])
		if bonus(candidate, try, len(candidate), r) > 0 {
			return try
		}
		try = w.index(candidate, try+size, letter)
	}
	return at
}

func bonus(candidate string, at, base int, r rune) int {
	if at == 0 || at == base {
		return atStart
	}
	before, _ := utf8.DecodeLastRuneInString(candidate[:at])
	switch {
	case strings.ContainsRune("/-_. :@\\", before), unicode.IsLower(before) && unicode.IsUpper(r):
		return atWord
	}
	return 0
}

// index finds a letter at or after from.
func (w word) index(s string, from int, letter rune) int {
	if letter < utf8.RuneSelf {
		low := byte(letter)
		for i := from; i < len(s); i++ {
			c := s[i]
			if !w.exact && 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c == low {
				return i
			}
		}
		return -1
	}
	for i, r := range s[min(from, len(s)):] {
		if r == letter || !w.exact && unicode.ToLower(r) == letter {
			return from + i
		}
	}
	return -1
}
