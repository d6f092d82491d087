package permit

import (
	"io/fs"

	"github.com/bmatcuk/doublestar/v4"
)

// permits says whether rules permit a tool to act on a subject.
func permits(rules []Rule, tool, subject string) bool {
	var patterns []string
	for _, r := range rules {
		switch {
		case r.Tool == "" || r.Tool != tool:
		case r.Pattern == "":
			return true
		default:
			patterns = append(patterns, r.Pattern)
		}
	}
	if len(patterns) == 0 {
		return false
	}
	if tool == shell {
		return permitsLine(patterns, subject)
	}
	// A path that is not clean is not compared: it may mean another one.
	if !fs.ValidPath(subject) || subject == "." {
		return false
	}
	for _, p := range patterns {
		if ok, err := doublestar.Match(p, subject); ok && err == nil {
			return true
		}
	}
	return false
}

// permitsLine wants every simple command of a line to fit some pattern.
func permitsLine(patterns []string, line string) bool {
	commands, ok := takeApart(line)
	if !ok {
		return false
	}
	allowed := make([]command, len(patterns))
	for i, p := range patterns {
		allowed[i] = parseCommand(p)
	}
	for _, words := range commands {
		if !anyFits(allowed, words) {
			return false
		}
	}
	return true
}

func anyFits(allowed []command, words []word) bool {
	for _, c := range allowed {
		if c.fits(words) {
			return true
		}
	}
	return false
}
