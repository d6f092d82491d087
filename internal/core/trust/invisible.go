package trust

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark is something in a text that a reader does not see, or sees elsewhere than it is.
type Mark struct {
	Line int    `json:"line"`
	What string `json:"what"` // zero-width, bidi, tag, variation, escape, not UTF-8
	Rune rune   `json:"rune"`
	// Count gives how many of this sort follow each other.
	Count int `json:"count"`
	// Hidden is the text that tag characters spell, which models read.
	Hidden string `json:"hidden,omitempty"`
}

func (m Mark) String() string {
	s := fmt.Sprintf("line %d: %s U+%04X", m.Line, m.What, m.Rune)
	if m.Count > 1 {
		s += fmt.Sprintf(" and %d more", m.Count-1)
	}
	if m.Hidden != "" {
		s += fmt.Sprintf(", which spell %q", m.Hidden)
	}
	return s
}

// Invisible finds what a reader does not see.
func Invisible(data []byte) []Mark {
	var out []Mark
	line, before := 1, rune(0)
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		what := ""
		if r == utf8.RuneError && n == 1 {
			what, r = "not UTF-8", rune(data[i])
		} else {
			after, _ := utf8.DecodeRune(data[i+n:])
			what = describeInvisible(before, r, after)
		}
		switch last := len(out) - 1; {
		case what == "":
		case last >= 0 && out[last].Line == line && out[last].What == what && describeInvisible(0, before, 0) == what:
			out[last].Count++
			out[last].Hidden += tagLetter(r)
		default:
			out = append(out, Mark{Line: line, What: what, Rune: r, Count: 1, Hidden: tagLetter(r)})
		}
		if r == '\n' {
			line++
		}
		before = r
		i += n
	}
	return out
}

// Reveal shows a text with all that is invisible in it as what it is. Where something
// is, joiners count as well, whatever stands beside them.
func Reveal(s string) string {
	if len(Invisible([]byte(s))) == 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, n := utf8.DecodeRuneInString(s[i:])
		after := rune(0)
		if r == '\r' {
			after, _ = utf8.DecodeRuneInString(s[i+n:])
		}
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "‹%02X›", s[i])
		case describeInvisible(0, r, after) != "":
			fmt.Fprintf(&b, "‹U+%04X›", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// tagLetter returns the letter that a tag character stands for.
func tagLetter(r rune) string {
	if r > 0xE0020 && r < 0xE007F || r == 0xE0020 {
		return string(r - 0xE0000)
	}
	return ""
}

// describeInvisible names the sort of an invisible character between its neighbours.
func describeInvisible(before, r, after rune) string {
	switch {
	case r == '\n' || r == '\t':
		return ""
	case r == '\r' && after == '\n':
		return ""
	case r < 0x20 || r >= 0x7F && r < 0xA0:
		return "escape"
	case r < 0xA0:
		return ""
	case r >= 0xE0000 && r <= 0xE007F:
		return "tag"
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C:
		return "bidi"
	case r == 0x200D && isPictorial(before) && isPictorial(after):
		return "" // one picture of two
	case r == 0x200C && unicode.IsLetter(before) && unicode.IsLetter(after):
		return "" // scripts need it within words
	case r >= 0x200B && r <= 0x200D, r >= 0x2060 && r <= 0x2065, r >= 0x206A && r <= 0x206F, r == 0xFEFF, r == 0x00AD, r == 0x034F, r == 0x180E,
		r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r >= 0xFFF9 && r <= 0xFFFB, r == 0x2028, r == 0x2029:
		return "zero-width"
	case r == 0xFE0F && before >= 0x80 && !isVariation(before), r == 0xFE0F && strings.ContainsRune("#*0123456789", before) && before != 0:
		return "" // the coloured form of what stands before it
	case isVariation(r):
		return "variation"
	}
	return ""
}

func isVariation(r rune) bool { return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF }

// isPictorial reports whether a character may be part of a joined picture.
func isPictorial(r rune) bool {
	return r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r) && r > 0x2000
}
