package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"ramet/internal/base/text"
)

// Wrap breaks a text with styles into lines of at most w cells: after one of the characters in at where it can, else
// between grapheme clusters. Unless at is empty, spaces at a break are dropped. A style that is on at a break is
// switched on again in the next line.
func Wrap(s string, w int, at string) []string {
	w = max(w, 1)
	var out []string
	on := ""
	for l := range strings.SplitSeq(s, "\n") {
		for {
			end := lineEnd(l, w, at)
			head, rest := l[:end], l[end:]
			if at != "" {
				if rest = strings.TrimLeft(rest, " \ufe0f"); rest != "" {
					head = strings.TrimRight(head, " ")
				}
			}
			out = append(out, on+head)
			if on = openStyle(on, head); on != "" {
				out[len(out)-1] += ansi.ResetStyle
			}
			if rest == "" {
				break
			}
			l = rest
		}
	}
	return out
}

func lineEnd(s string, w int, at string) int {
	cells, end, word := 0, 0, 0 // end: after what fits, and the reset of its style
	for i := 0; i < len(s); {
		if n := StyleEnd(s[i:]); n > 0 {
			if i += n; s[i-n:i] == ansi.ResetStyle {
				end = i
			}
			continue
		}
		_, wide, n := text.NextCell(s[i:])
		if cells += wide; cells > w && end > 0 {
			if word == 0 || s[i] == ' ' && at != "" {
				return end
			}
			return word
		}
		i += n
		end = i
		if at != "" && (wide == 2 || strings.IndexByte(at, s[i-1]) >= 0) && strings.TrimLeft(s[:i], " ") != "" {
			word = i
		}
	}
	return len(s)
}

// openStyle returns the styles that are on after a text, given those before it.
func openStyle(on, s string) string {
	for i := strings.IndexByte(s, 0x1b); i >= 0 && i < len(s); i++ {
		if n := StyleEnd(s[i:]); n > 0 {
			if on += s[i : i+n]; s[i:i+n] == ansi.ResetStyle {
				on = ""
			}
			i += n - 1
		}
	}
	return on
}

// StyleEnd returns the length of the style with which a text begins; 0 if it begins with something else.
func StyleEnd(s string) int {
	if len(s) < 3 || s[0] != 0x1b || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// trimRight removes the spaces at the end of a line, also in its last style.
func trimRight(l string) string {
	bare := strings.TrimRight(l, " ")
	if styled, ok := strings.CutSuffix(bare, ansi.ResetStyle); ok {
		return strings.TrimRight(styled, " ") + ansi.ResetStyle
	}
	return bare
}

// expandTabs replaces tabs by spaces up to the next fourth column.
func expandTabs(s string) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			n := 4 - column%4
			b.WriteString("    "[:n])
			column += n
		}
		b.WriteString(part)
		column += text.Width(part)
	}
	return b.String()
}
