package offline

import (
	"regexp"
	"strings"
	"sync"

	"ramet/internal/base/text"
)

// kind names how the calls of a step follow each other.
type kind int

const (
	saying   kind = iota // no calls: it says something
	together             // all in one answer
	inTurn               // one after the other, as long as they work
	forking              // all in one answer, then the children's mail
	waiting              // one, then the letter
)

// step is a part of an order that was understood.
type step struct {
	kind    kind
	calls   []call
	text    string // of saying
	leave   bool   // forking: do not wait
	shell   bool   // a command line without quotes, which may go on
	anyMail bool   // it waits for or reads whatever letter comes
}

func one(tool, did string, args map[string]any) []step {
	return []step{{kind: together, calls: []call{{tool, args, did}}}}
}

// rule is one way to say something. It returns nil where that is not meant after
// all.
type rule struct {
	pattern *regexp.Regexp
	make    func(m []string) []step
}

// allRules has them compiled.
var allRules = sync.OnceValue(rules)

// words compiles a pattern of words. In it, a space is any white space, and
// capitals stand for:
//
//	ANY    anything, the shortest that fits
//	PATH   one word, or something quoted
//	AGENT  the name of an agent
//	LIT    something quoted
//	THE    an article or the like, or nothing
//	FILE   such, and "file", or nothing
func words(pattern string) *regexp.Regexp {
	const lit = "(?:```.+?```|`[^`]+`|\"[^\"]*\"|“[^”]*”|«[^»]*»|'[^']*')"
	p := strings.NewReplacer(
		"ANY", `(`+lit+`|\S.*?)`, "PATH", `(`+lit+`|[^\s"`+"`"+`]+)`, "AGENT", `(?:the |my )?(?:agent |child )?([A-Za-z0-9][A-Za-z0-9._-]*)`, "LIT", `(`+lit+`)`,
		"THE", `(?:(?:the|a|an|all|my|your|any|every|new|next|unread|this|our) )*`,
		"FILE", `(?:(?:the|a|an|new|text|empty) )*(?:file )?(?:(?:called|named) )?`,
	).Replace(pattern)
	return regexp.MustCompile(`(?is)^` + strings.ReplaceAll(p, " ", `\s+`) + `$`)
}

// parse understands one part, which may be several steps joined with "and" or
// commas; depth counts the forks around it. nil: it does not.
func parse(s string, depth int) []step {
	if forkHead().MatchString(s) {
		return parseFork(s, depth)
	}
	if parts := joined(s); len(parts) > 1 {
		var out []step
		for _, p := range parts {
			got := parseOne(p, depth)
			if got == nil {
				out = nil
				break
			}
			out = append(out, got...)
		}
		if out != nil {
			return out
		}
	}
	return parseOne(s, depth)
}

func parseOne(s string, depth int) []step {
	s = tidy(s)
	if s == "" {
		return nil
	}
	if forkHead().MatchString(s) {
		return parseFork(s, depth)
	}
	for _, r := range allRules() {
		if m := r.pattern.FindStringSubmatch(s); m != nil {
			if got := r.make(m); got != nil {
				return got
			}
		}
	}
	return nil
}

var joint = text.Regexp(`(?i)(?:,\s+(?:and\s+)?|\s+and\s+)`)

// joined cuts at "and" and commas, outside of quotes.
func joined(s string) []string {
	var out []string
	start := 0
	for _, at := range joint().FindAllStringIndex(mask(s), -1) {
		out = append(out, s[start:at[0]])
		start = at[1]
	}
	return append(out, s[start:])
}
