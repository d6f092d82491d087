package syntax

import (
	"unicode"
	"unicode/utf8"
)

// Features are what is read besides CommonMark.
type Features uint8

// GitHub has all of them but Plain. Plain leaves out HTML, and strikes between single tildes.
const (
	Tables Features = 1 << iota
	Notes
	Boxes
	Strikes
	Addresses
	Plain

	GitHub = Tables | Notes | Boxes | Strikes | Addresses
)

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }

func isLetter(c byte) bool { return isSmall(c | 0x20) }

func isWord(c byte) bool { return isLetter(c) || isDigit(c) }

// isMark says whether a backslash makes plain text of c.
func isMark(c byte) bool { return c > ' ' && c < 0x7f && !isWord(c) }

func isSpaceRune(r rune) bool {
	return r < 0x80 && isSpace(byte(r)) || r >= 0x80 && unicode.Is(unicode.Zs, r)
}

func isMarkRune(r rune) bool {
	if r < 0x80 {
		return isMark(byte(r))
	}
	return unicode.IsPunct(r) || unicode.IsSymbol(r)
}

// trim is a span without the space around it.
func trim(src []byte, s Span) Span {
	for s.From < s.To && isSpace(src[s.From]) {
		s.From++
	}
	for s.From < s.To && isSpace(src[s.To-1]) {
		s.To--
	}
	return s
}

func trimmed(b []byte) []byte {
	s := trim(b, Span{0, len(b)})
	return b[s.From:s.To]
}

// runeBefore and runeBehind are what stands at a place of a block, whose ends are like spaces.
func runeBefore(b []byte, at int) rune {
	if at == 0 {
		return '\n'
	}
	r, _ := utf8.DecodeLastRune(b[:at])
	return r
}

func runeBehind(b []byte, at int) rune {
	if at == len(b) {
		return '\n'
	}
	r, _ := utf8.DecodeRune(b[at:])
	return r
}

// run is how many bytes are of a kind.
func run(b []byte, kind func(byte) bool) int {
	for i, c := range b {
		if !kind(c) {
			return i
		}
	}
	return len(b)
}

// fold is a label as labels are compared: without regard to capital letters and to how much space
// stands between words. Of the letters that become two when they are folded it knows the German ß.
func fold(label []byte) string {
	out := make([]byte, 0, len(label))
	space := false
	for i := 0; i < len(label); {
		r, n := utf8.DecodeRune(label[i:])
		if r < 0x80 && isSpace(byte(r)) {
			space = true
			i += n
			continue
		}
		if space && len(out) > 0 {
			out = append(out, ' ')
		}
		space = false
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, label[i])
		case r == 'ß' || r == 'ẞ':
			out = append(out, "SS"...)
		default:
			out = utf8.AppendRune(out, folded(r))
		}
		i += n
	}
	return string(out)
}

// folded is the first of the letters that differ from r in size only.
func folded(r rune) rune {
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	return least
}
