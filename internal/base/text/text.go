// Package text shortens, quotes, counts and measures text, makes it safe for a terminal, and finds
// the word that a user probably meant.
//
// Text is measured as a terminal shows it: in grapheme clusters and in cells (columns). Every part
// of the terminal UI that cuts, wraps or places text uses this package, so that all of them agree.
// Text keeps its logical order; a terminal that supports right-to-left text reorders it itself.
package text

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Safe returns s with nothing in it that a terminal would obey: control
// characters (but line feed and tab), bytes that are not UTF-8, and the marks
// that reorder or hide text are shown as what they are.
func Safe(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune('\uFFFD')
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"): // a DOS line end
		case r < 0x20:
			b.WriteRune('\u2400' + r) // the picture of that control character
		case r == 0x7f:
			b.WriteRune('\u2421')
		case isHostile(r):
			b.WriteRune('\uFFFD')
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// Name does what Safe does for what stands on one line: a line feed in the name of a file would let it say
// a line of its own.
func Name(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Safe(s), "\n", "\u240A"), "\t", "\u2409")
}

func isClean(s string) bool {
	for i, r := range s {
		if r >= 0x20 && r < 0x7f {
			continue
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
		if (r < 0x20 && r != '\n' && r != '\t') || r == 0x7f || isHostile(r) {
			return false
		}
	}
	return true
}

// isHostile covers C1 controls, line separators and bidirectional overrides.
// Joiners stay: emoji and scripts need them.
func isHostile(r rune) bool {
	return r >= 0x80 && (r <= 0x9f ||
		r == 0x2028 || r == 0x2029 ||
		r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0xfeff ||
		r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe) // no characters
}

// Single does what Safe does for what must stay within its line, such as the name of a file: a name with a
// line break in it could pretend to be two rows of a list.
func Single(s string) string {
	return strings.ReplaceAll(Safe(s), "\n", "␊")
}

// Line returns the text on one line, cut to at most width runes, for lists.
func Line(s string, width int) string {
	s = strings.Join(strings.Fields(Safe(s)), " ")
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	n := 0
	for i := range s {
		if n == width-1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// Storable returns a text as valid UTF-8 without NUL, which a history can hold.
func Storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\u2400")
}

// Head returns the first bytes of s, at most so many, without a part of a character.
func Head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// WholeRunes drops the beginning of a character whose rest was cut off.
func WholeRunes(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// Ends returns the beginning and the end of a text of more than twice so many bytes, and how many bytes are between them.
func Ends(s string, each int) (head, tail string, missing int) {
	head, tail = Head(s, each), s[len(s)-each:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head, tail, len(s) - len(head) - len(tail)
}

// Middle returns a text, or both ends of one that has more bytes than the limit.
func Middle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail, missing := Ends(s, limit/2)
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", head, missing, tail)
}

// Count returns a number with its noun, in the right form.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "child" {
		return fmt.Sprintf("%d children", n)
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// FirstOf joins names with commas. Of more than so many it counts the others.
func FirstOf(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Age returns how long ago something was, in its largest unit: 5s, 3m, 47h, 2d.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// ParseSize reads a number of bytes such as 500MB. It reports whether s is one.
func ParseSize(s string) (int64, bool) {
	number, factor := strings.ToUpper(strings.TrimSpace(s)), int64(1)
	for suffix, f := range map[string]int64{"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = strings.TrimSpace(rest), f
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, false
	}
	return n * factor, true
}

// FormatSize writes a number of bytes as ParseSize reads it, rounded.
func FormatSize(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for ; size >= 1000 && unit < len(units)-1; unit++ {
		size /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// Regexp returns a function that compiles an expression at its first call: a start of the program needs few of
// them, and to compile all takes longer than most commands.
func Regexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// SplitOutside splits a text at separators, except within brackets (an opening and a closing one) and behind a
// backslash. Pieces are without spaces around them; empty ones are left out.
func SplitOutside(s, separators, brackets string) []string {
	var out []string
	depth, start, escaped := 0, 0, false
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s), !escaped && depth <= 0 && strings.IndexByte(separators, s[i]) >= 0:
			if piece := strings.TrimSpace(s[start:i]); piece != "" {
				out = append(out, piece)
			}
			start = i + 1
		case escaped:
			escaped = false
		case s[i] == '\\':
			escaped = true
		case s[i] == brackets[0]:
			depth++
		case s[i] == brackets[1]:
			depth--
		}
	}
	return out
}
