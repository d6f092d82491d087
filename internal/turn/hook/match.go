package hook

import (
	"regexp"
	"slices"
	"strings"

	"ramet/internal/base/text"
)

var plainMatcher = text.Regexp(`^[A-Za-z0-9_| -]*$`)

// Fits reports whether a hook runs on an occasion. A matcher of plain names, with | between them, is
// one of them; any other is a regular expression, which may fit anywhere in the name. One that is
// not readable fits everything, for it may be a guard.
func (h Hook) Fits(o Occasion) bool {
	if h.Event != o.Event {
		return false
	}
	if h.Matcher == "" || h.Matcher == "*" {
		return true
	}
	var names []string
	switch {
	case o.Tool != "":
		if names = theirNames(o.Tool, o.Args); !h.Theirs {
			names = append(names, o.Tool)
		}
	case o.About != "":
		names = []string{o.About}
	default:
		return true // there is nothing that could be matched
	}
	if plainMatcher().MatchString(h.Matcher) {
		for one := range strings.SplitSeq(h.Matcher, "|") {
			if slices.Contains(names, strings.TrimSpace(one)) {
				return true
			}
		}
		return false
	}
	re, err := regexp.Compile(h.Matcher)
	return err != nil || slices.ContainsFunc(names, re.MatchString)
}
