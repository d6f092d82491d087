package text

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cellLongest is the most bytes of one cluster that are kept: enough for the longest
// emoji in use, and an end to towers of combining marks.
const cellLongest = 64

// NextCell splits the first cluster off a text and tells its width: 0, 1 or 2 cells.
// A cluster of absurd length is cut, and one that would only change the look of
// what happens to stand before it is empty; used says how much of the text it
// stood for.
func NextCell(s string) (cluster string, width, used int) {
	if s == "" {
		return "", 0, 0
	}
	if c := s[0]; c >= ' ' && c < 0x7f && (len(s) == 1 || s[1] < 0x80) {
		return s[:1], 1, 1
	}
	cluster, width = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	used = len(cluster)
	cluster = strings.TrimLeft(cluster, "\ufe0f")
	if len(cluster) > cellLongest {
		end := cellLongest
		for !utf8.RuneStart(cluster[end]) {
			end--
		}
		cluster = strings.TrimRight(cluster[:end], "\u200d") // a joiner left over would take the next one in
		_, width = ansi.FirstGraphemeCluster(cluster, ansi.GraphemeWidth)
	}
	return cluster, min(max(width, 0), 2), used
}

// Width returns the number of cells of a text on one line.
func Width(s string) int {
	total := 0
	for s != "" {
		_, w, n := NextCell(s)
		total += w
		s = s[n:]
	}
	return total
}

// CutWidth shortens a text to at most width cells; where something is left out, an
// ellipsis says so.
func CutWidth(s string, width int) string {
	if width <= 0 {
		return ""
	}
	total, fits := 0, 0 // fits: bytes that leave room for the ellipsis
	for i := 0; i < len(s); {
		_, w, n := NextCell(s[i:])
		if total+w > width {
			return s[:fits] + "…"
		}
		total, i = total+w, i+n
		if total < width {
			fits = i
		}
	}
	return s
}
