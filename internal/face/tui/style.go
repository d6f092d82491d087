package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"ramet/internal/base/text"
	"ramet/internal/face/tui/markdown"
	"ramet/internal/model/llm"
)

// style is a way to write. Only the sixteen colours of the terminal's own palette
// are used: they fit light and dark backgrounds, because the user chose them. Where
// there are none, bold, faint and reverse remain.
type style string

const (
	plain    style = ""
	bold     style = "1"
	faint    style = "2"
	italic   style = "3"
	reverse  style = "7"
	accent   style = "36"   // where you are, keys
	accented style = "1;36" //
	good     style = "32"
	warn     style = "33"
	bad      style = "31"
	yours    style = "1;34" // what the user said
	tooled   style = "35"   // tools
)

// of writes s, which holds no codes that end a style.
func (st style) of(s string) string {
	if st == plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[m"
}

// unfaint writes what is faint as plain text, for eyes that cannot read it otherwise.
func unfaint(l string) string {
	for _, way := range [][2]string{{"\x1b[2m", "\x1b[m"}, {"\x1b[2;", "\x1b["}} {
		l = strings.ReplaceAll(l, way[0], way[1])
	}
	return l
}

func width(s string) int { return ansi.StringWidth(s) }

func cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, "…")
}

func fit(s string, w int) string {
	n := width(s)
	if n > w {
		s = cut(s, w)
		n = width(s)
	}
	if n < w {
		s += strings.Repeat(" ", w-n)
	}
	return s
}

// spread puts one text to the left and one to the right of a line. The right one
// goes first where there is no room for both.
func spread(left, right string, w int) string {
	room := w - width(right) - 1
	if right == "" || room < 12 && width(left) > room {
		return fit(left, w)
	}
	return fit(left, room) + " " + right
}

// clean makes a foreign text harmless and its tabs spaces.
func clean(s string) string {
	s = text.Safe(s)
	if strings.IndexByte(s, '\t') >= 0 {
		s = strings.ReplaceAll(s, "\t", "    ")
	}
	return s
}

// line is a foreign text on one line of at most w cells.
func line(s string, w int) string { return cut(text.Line(s, 4*w+16), w) }

// wrap breaks a harmless text into lines no wider than w, between words, after a dash or a slash where it can.
func wrap(s string, w int) []string { return markdown.Wrap(s, w, " -/") }

func strip(s string) string { return ansi.Strip(s) }

// lead returns the mark of the first line of several, and spaces for the others.
func lead(i int, mark string) string {
	if i > 0 {
		return "  "
	}
	return mark
}

// prompted marks the first line of a prompt.
func prompted(lines []string) []string {
	for i := range lines {
		lines[i] = lead(i, accented.of("❯ ")) + lines[i]
	}
	return lines
}

func tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

func money(m llm.Money) string {
	dollars := float64(m) / 1e9
	switch {
	case m == 0:
		return "$0.00"
	case dollars < 0.01:
		return fmt.Sprintf("$%.4f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}
