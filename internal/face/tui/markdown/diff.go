package markdown

import (
	"strconv"
	"strings"
)

// hunk counts the lines of a diff that are still to come, so that a removed line
// that begins with two dashes is not taken for a file's name.
type hunk struct{ old, new int }

func (h *hunk) line(s string, theme Theme) Style {
	inside := h.old > 0 || h.new > 0
	switch {
	case strings.HasPrefix(s, "@@"):
		*h = hunkOf(s)
		return theme.Hunk
	case !inside && (strings.HasPrefix(s, "+++ ") || strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "diff ") || strings.HasPrefix(s, "index ")):
		return theme.Comment
	case strings.HasPrefix(s, "+"):
		h.new--
		return theme.Added
	case strings.HasPrefix(s, "-"):
		h.old--
		return theme.Removed
	case !strings.HasPrefix(s, `\`): // "\ No newline at end of file" is not a line of either
		h.old--
		h.new--
	}
	return theme.Plain
}

// hunkOf reads "@@ -1,2 +3 @@"; a count that is left out is one.
func hunkOf(s string) hunk {
	fields := strings.Fields(s)
	if len(fields) < 3 {
		return hunk{}
	}
	count := func(field string) int {
		_, n, ok := strings.Cut(field, ",")
		if !ok {
			return 1
		}
		lines, _ := strconv.Atoi(n) // one that cannot be read is none
		return lines
	}
	return hunk{count(fields[1]), count(fields[2])}
}
