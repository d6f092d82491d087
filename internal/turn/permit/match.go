package permit

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// permits reports whether rules permit a tool to act on a subject.
func permits(rules []Rule, tool, subject string) bool {
	_, ok := matchRules(rules, tool, subject)
	return ok
}

// Permits reports whether rules permit a tool to act on a subject.
func Permits(rules []Rule, tool, subject string) bool { return permits(rules, tool, subject) }

// matchRules finds the rules that together permit a tool to act on a subject: one, or
// for a command line one for each of its commands.
func matchRules(rules []Rule, tool, subject string) (by []Rule, ok bool) {
	var patterns []Rule
	for _, r := range rules {
		switch {
		case r.Tool == "" || r.Tool != tool:
		case r.Pattern == "":
			return []Rule{r}, true
		default:
			patterns = append(patterns, r)
		}
	}
	if tool == shell {
		return matchLine(patterns, subject)
	}
	if tool == servers {
		return matchServer(patterns, subject)
	}
	// A path that is not clean is not compared: it may mean another one.
	if !fs.ValidPath(subject) || subject == "." {
		return nil, false
	}
	for _, r := range patterns {
		if ok, err := doublestar.Match(r.Pattern, subject); ok && err == nil {
			return []Rule{r}, true
		}
	}
	return nil, false
}

// matchLine wants the very line in some pattern, or every simple command of it to
// fit one.
func matchLine(patterns []Rule, line string) (by []Rule, ok bool) {
	for _, r := range patterns {
		if r.Pattern == exactPattern(line) && (r.Outside || isShellPattern(r.Pattern)) {
			return []Rule{r}, true
		}
	}
	patterns = slices.DeleteFunc(slices.Clone(patterns), func(r Rule) bool { return r.Outside || isShellPattern(r.Pattern) })
	if len(patterns) == 0 {
		return nil, false
	}
	commands, ok := takeApart(line)
	if !ok {
		return nil, false
	}
	for _, words := range commands {
		i := slices.IndexFunc(patterns, func(r Rule) bool { return parseCommand(r.Pattern).fits(words) })
		if i < 0 {
			return nil, false
		}
		if !slices.Contains(by, patterns[i]) {
			by = append(by, patterns[i])
		}
	}
	return by, true
}

// exactPattern returns the pattern of one command line and no other.
func exactPattern(line string) string { return escapePattern(line, `\*()`) }

// isShellPattern reports whether a pattern is a line as a shell reads it, with quotes, variables
// or several commands, so that its words mean nothing by themselves. Of any other
// pattern the words count, in which a ~ or \\* is only that character: it does not
// permit what a shell would make of it.
func isShellPattern(pattern string) bool {
	return !hasStar(pattern) && strings.ContainsAny(pattern, "\"'$`;&|<>")
}
