package text

import (
	"fmt"
	"slices"
)

// nearestLongest bounds the work: the measure is quadratic, and to a word that long
// nothing is near.
const nearestLongest = 100

// NearestWord returns the candidate closest to word, or "" when none is close enough
// to be worth suggesting: at most a third of the letters may differ, one at
// the least.
func NearestWord(word string, candidates []string) string {
	if len(word) > nearestLongest {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, c := range candidates {
		if d := editDistance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// NearestHint names the word that was probably meant, for the end of a refusal. Where none is near it says
// otherwise, which tells what there is.
func NearestHint(word string, known []string, otherwise string) string {
	if near := NearestWord(word, known); near != "" && word != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return otherwise
}

// NearestWords returns the candidates close enough to be worth suggesting, as Word has it: the closest
// first, each once, and no more than most.
func NearestWords(word string, candidates []string, most int) []string {
	left := slices.Clone(candidates)
	var out []string
	for len(out) < most {
		near := NearestWord(word, left)
		if near == "" {
			break
		}
		out = append(out, near)
		left = slices.DeleteFunc(left, func(c string) bool { return c == near })
	}
	return out
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
