package local

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// selection is which files of a walk are meant, by their names.
type selection struct{ include, exclude string }

// selection reads what a call says. A "!" in front of what to include is what to exclude;
// several patterns can stand behind one another with commas.
func (l *Local) selection(include, exclude string) (selection, error) {
	var in, out []string
	for _, p := range splitCommas(include) {
		if rest, no := strings.CutPrefix(p, "!"); no {
			out = append(out, rest)
		} else {
			in = append(in, p)
		}
	}
	for _, p := range splitCommas(exclude) {
		out = append(out, strings.TrimPrefix(p, "!"))
	}
	var s selection
	var err error
	if s.include, err = l.oneOf(in); err != nil {
		return s, err
	}
	s.exclude, err = l.oneOf(out)
	return s, err
}

// oneOf returns one pattern for several.
func (l *Local) oneOf(patterns []string) (string, error) {
	for i, p := range patterns {
		one, err := l.pattern(p)
		if err != nil {
			return "", err
		}
		if !strings.Contains(one, "/") {
			one = "**/" + one // a name, in whatever folder
		} else if strings.HasSuffix(one, "/") {
			one += "**"
		}
		patterns[i] = one
	}
	if len(patterns) < 2 {
		return strings.Join(patterns, ""), nil
	}
	return l.pattern("{" + strings.Join(patterns, ",") + "}")
}

// splitCommas splits a list at its commas, except within braces.
func splitCommas(list string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range list + "," {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && (depth <= 0 || i == len(list)):
			if part := strings.TrimSpace(list[from:i]); part != "" {
				parts = append(parts, part)
			}
			from = i + 1
		}
	}
	return parts
}

// takes reports whether a file is meant.
func (s selection) takes(inside string) bool {
	inside = path.Clean(inside)
	return (s.include == "" || doublestar.MatchUnvalidated(s.include, inside)) &&
		(s.exclude == "" || !doublestar.MatchUnvalidated(s.exclude, inside))
}
