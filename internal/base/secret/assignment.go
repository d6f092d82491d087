package secret

import (
	"slices"
	"strings"
	"sync"
)

// One rule knows no vendor: a name with a word like "token" in it, an operator, and
// something that looks random. In texts about models nearly every line has such a word
// ("input_tokens": 12), so the parts are looked at in the order of what they cost: the
// operator, the characters behind it, then the name before it.

// keyWords are the words of the rule. One of them must are in the name.
var keyWords = [...]string{"access", "api", "auth", "key", "credential", "creds", "passwd", "password", "secret", "token"}

// openWords are in the names of what anybody may know.
var openWords = [...]string{"publickey", "public_key", "public key", "public-key", "pubkey", "fingerprint", "thumbprint", "checksum", "digest"}

const (
	minAssigned = 10  // the shortest value
	maxAssigned = 512 // the longest; what is longer is data
	stretch     = 96  // more than the bytes of a name
	minBits     = 3.5 // the entropy of the least random value
)

// assignment is a value that looks like a key, and the name that it is given to.
type assignment struct {
	name     string // in small letters
	from, to int    // the value
}

// findAssignments returns the assignments in a text that can be keys by the characters of the value and a
// word in the name.
func findAssignments(s string) []assignment {
	var out []assignment
	sorts := sorts()
	run := values{sorts: sorts}
	for i := range len(s) {
		if sorts[s[i]]&operator == 0 {
			continue
		}
		from, to := run.assigned(s, i+1)
		if to < 0 || !canBeKey(s, from, to) {
			continue
		}
		if name, ok := nameBefore(sorts, s, i); ok {
			out = append(out, assignment{name, from, to})
		}
	}
	return out
}

// values remembers where the last run of value characters ended, so that a run
// full of operators is walked once.
type values struct {
	sorts *[256]byte
	end   int
}

// assigned returns the value that begins at i or a few bytes later; to is -1 when what follows
// cannot be one. Calls go through s from left to right.
func (v *values) assigned(s string, i int) (from, to int) {
	for skipped := 0; skipped <= 5 && i < len(s); skipped++ {
		if i >= v.end {
			for v.end = i; v.end < len(s) && v.sorts[s[v.end]]&inValue != 0; {
				v.end++
			}
		}
		if v.end-i >= minAssigned && s[i] != '=' {
			return i, v.end
		}
		if v.sorts[s[i]]&beforeValue == 0 {
			if n := schemeLength(s[i:]); n > 0 {
				i += n
				continue
			}
			return 0, -1
		}
		i++
	}
	return 0, -1
}

// schemeLength returns the length of the word that names the kind of credential in a header.
func schemeLength(s string) int {
	if s[0] != 'B' && s[0]|0x20 != 't' {
		return 0
	}
	for _, word := range [...]string{"Bearer ", "Basic ", "Token ", "token "} {
		if strings.HasPrefix(s, word) {
			return len(word)
		}
	}
	return 0
}

// canBeKey reports whether a value has letters and digits, is not too long, and does not go on
// as a call, an index or an expression does.
func canBeKey(s string, from, to int) bool {
	if to-from > maxAssigned || to < len(s) && strings.IndexByte("([{$@*~", s[to]) >= 0 {
		return false
	}
	var hasLetter, hasDigit bool
	for i := from; i < to && !(hasLetter && hasDigit); i++ {
		hasLetter, hasDigit = hasLetter || isLetter(s[i]), hasDigit || isDigit(s[i])
	}
	return hasLetter && hasDigit
}

// nameBefore returns the name before the operator that ends at i, in small letters; ok when
// one of the rule's words is in it.
func nameBefore(sorts *[256]byte, s string, i int) (name string, ok bool) {
	for n := 0; n < 3 && i > 0 && strings.IndexByte(":=|?", s[i-1]) >= 0; n++ {
		i--
	}
	for n := 0; n < 5 && i > 0 && sorts[s[i-1]]&afterName != 0; n++ {
		i--
	}
	from := i
	for n := 0; n < stretch && from > 0 && sorts[s[from-1]]&inName != 0; n++ {
		from--
	}
	name = strings.ToLower(s[from:i])
	return name, hasWord(name, keyWords[:]) && !hasWord(name, openWords[:]) && !endsAsDigest(name)
}

func hasWord(name string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// endsAsDigest reports whether the last word of a name is an algorithm's: what follows is the
// digest of what the name is about, as in go.sum.
func endsAsDigest(name string) bool {
	last := name[strings.LastIndexAny(name, " \t._-")+1:]
	switch last {
	case "h1", "md5", "sha1", "sha224", "sha256", "sha384", "sha512":
		return true
	}
	return false
}

// looksRandom returns the judgement of the rule on a value.
func looksRandom(v string) bool {
	v = strings.Trim(v, "=.-_/+")
	if len(v) < minAssigned || entropy(v) < minBits || isPlaceholder(v) || countedShare(v) > 0.4 || wordShare(v) > 0.35 {
		return false
	}
	// A constant of a program, such as 0x9e3779b97f4a7c15.
	return len(v) > len("0x")+16 || !strings.HasPrefix(v, "0x")
}

// What a character can be around an assignment; some are several things.
const (
	operator    = 1 << iota // the last character of an operator
	beforeValue             // between the operator and the value
	inValue
	inName
	afterName // between the name and the operator
)

// sorts has what each character can be.
var sorts = sync.OnceValue(func() *[256]byte {
	var sorts [256]byte
	const space = " \t\n\v\f\r"
	for sort, chars := range map[byte]string{
		operator:    "=>:|,",
		beforeValue: "`'\"=\\" + space,
		inValue:     alnum + "_.=-+/",
		inName:      alnum + "_ \t.-",
		afterName:   "'\"\\" + space,
	} {
		for i := range len(chars) {
			sorts[chars[i]] |= sort
		}
	}
	return &sorts
})
