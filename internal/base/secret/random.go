package secret

import (
	"math"
	"strings"
)

// What is random is told from what a person wrote by three measures: how evenly the
// characters are spread, how much of it reads like words, and how often a character is the
// successor of the one before it.

// entropy returns how many bits a character of s carries, going by how often each occurs.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	var sum float64
	for _, n := range count {
		if n > 0 {
			sum += float64(n) * math.Log2(float64(n))
		}
	}
	return math.Log2(float64(len(s))) - sum/float64(len(s))
}

// pairs are, for each letter from a to z, those that often follow it in English and in the
// names of programs: 96 of 100 pairs in such texts, and 37 of 100 among all pairs.
var pairs = [26]string{
	"bcdgiklmnprstuvwyz", "aeiloruy", "acehiklorstuy", "adeiklorsuy", "acdefgilmnpqrstvwxy", "aefiloru",
	"aehilnorsu", "aeilotu", "abcdefglmnoprstvxz", "", "aeis", "adeilostuy", "adeimopu", "acdefginostuv",
	"bcdfgiklmnoprstuvw", "adeiloprstu", "u", "acdefgikmnorstuvy", "acdehimopstuy", "acehiloprstuy",
	"bcdegilmnprst", "aei", "aehiors", "pt", "ops", "eo",
}

// isCommonPair reports whether letter b often follows letter a.
func isCommonPair(a, b byte) bool { return strings.IndexByte(pairs[a|0x20-'a'], b|0x20) >= 0 }

// wordShare returns the share of s that reads like words: runs of three letters or more, in one case or
// with a capital first, most of whose pairs are common ones.
func wordShare(s string) float64 {
	words := 0
	for i := 0; i < len(s); {
		end := wordEnd(s, i)
		if n := end - i; n >= 3 {
			good := 0
			for j := i + 1; j < end; j++ {
				if isCommonPair(s[j-1], s[j]) {
					good++
				}
			}
			if good*10 >= (n-1)*7 {
				words += n
			}
		}
		i = max(end, i+1)
	}
	return float64(words) / float64(len(s))
}

// wordEnd returns where the letters that begin at i stop being one word.
func wordEnd(s string, i int) int {
	end := i
	for end < len(s) && isLetter(s[end]) {
		if end > i && isLarge(s[end]) && (!isLarge(s[end-1]) || end+1 < len(s) && isLetter(s[end+1]) && !isLarge(s[end+1])) {
			break
		}
		end++
	}
	return end
}

// countedShare returns the share of s that is the successor of the character before it, or the same:
// abcdef, 123456, xxxx.
func countedShare(s string) float64 {
	n := 0
	for i := 1; i < len(s); i++ {
		if d := int(s[i]) - int(s[i-1]); d == 0 || d == 1 {
			n++
		}
	}
	return float64(n) / float64(len(s))
}

// isPlaceholder reports whether a key's changing part was made up: an example, or the name
// of a variable.
func isPlaceholder(body string) bool {
	if len(body) == 0 {
		return false
	}
	most := math.Log2(float64(min(len(body), 16)))
	return entropy(body) < 0.6*most || wordShare(body) > 0.6 || saysExample(body)
}

func saysExample(s string) bool {
	for i := range len(s) - len("example") + 1 {
		if strings.EqualFold(s[i:i+len("example")], "example") {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || isLarge(c) }

func isLarge(c byte) bool { return 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
