package files

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// rule is one line of a file of rules.
type rule struct {
	pattern  string
	kind     kind
	keep     bool // a line with "!": what fits is not left out
	dirs     bool // only folders fit
	anchored bool // held against the whole path, not the last name
}

// kind describes how a pattern is compared: most are plain names and endings.
type kind int

const (
	glob kind = iota
	plain
	ending // "*" and a plain rest
)

// verdict is the decision of rules about a path.
type verdict int

const (
	ignoreSilent verdict = iota
	out
	kept
)

// judge returns the word of the last rule that fits.
func judge(rules []rule, path string, dir bool) verdict {
	if len(rules) == 0 {
		return ignoreSilent
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(rules) - 1; i >= 0; i-- {
		r := &rules[i]
		if r.dirs && !dir {
			continue
		}
		subject := name
		if r.anchored {
			subject = path
		}
		if !r.fits(subject) {
			continue
		}
		if r.keep {
			return kept
		}
		return out
	}
	return ignoreSilent
}

func (r *rule) fits(subject string) bool {
	switch r.kind {
	case plain:
		return subject == r.pattern
	case ending:
		return strings.HasSuffix(subject, r.pattern)
	}
	return doublestar.MatchUnvalidated(r.pattern, subject)
}

// parse reads rules. Lines that git would not understand are passed over.
func parse(file []byte) []rule {
	var rules []rule
	for line := range strings.Lines(strings.TrimPrefix(string(file), "\uFEFF")) {
		if r, ok := parseLine(line); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseLine(line string) (r rule, ok bool) {
	line = trimSpaces(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.keep, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirs, line = true, strings.TrimSuffix(line, "/")
	}
	if rest, ok := strings.CutPrefix(line, "/"); ok {
		r.anchored, line = true, rest
	}
	r.anchored = r.anchored || strings.Contains(line, "/")
	if line == "" {
		return r, false
	}
	special := strings.ContainsAny
	switch {
	case !special(line, `*?[\`):
		r.kind = plain
	case !r.anchored && line[0] == '*' && len(line) > 1 && !special(line[1:], `*?[\`):
		r.kind, line = ending, line[1:]
	case !r.anchored && line == "**":
		line = "*"
	default:
		// Braces are plain to git, and "abc/**" is what is in abc, not abc itself.
		line = strings.NewReplacer(`{`, `\{`, `}`, `\}`, `\{`, `\{`, `\}`, `\}`).Replace(line)
		if rest, ok := strings.CutSuffix(line, "/**"); ok {
			line = rest + "/**/*"
		}
		if !doublestar.ValidatePattern(line) {
			return r, false
		}
	}
	r.pattern = line
	return r, true
}

// trimSpaces takes spaces from the end, but for one behind a backslash.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}
