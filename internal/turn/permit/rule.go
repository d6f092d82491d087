package permit

import (
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"ramet/internal/base/fault"
	"ramet/internal/base/text"
	"ramet/internal/core/toolinfo"
	"ramet/internal/turn/tool"
)

// toolNames lists the names that a rule can begin with.
var toolNames = sync.OnceValue(func() []string {
	out := []string{servers, Network}
	for _, t := range toolinfo.All() {
		if t.Subject != toolinfo.None {
			out = append(out, t.Name)
		}
	}
	slices.Sort(out)
	return out
})

// shell is the tool whose subject is a command line; that of the others is a path, or the
// host of fetch.
const shell = "bash"

// servers is the name under which rules permit the tools of MCP servers: mcp(SERVER), all of
// one, or mcp(SERVER__TOOL).
const servers = "mcp"

// forks is the tool whose calls start another program for an agent: fork(DRIVER).
const forks = "fork"

// maxPattern bounds what matching can cost.
const maxPattern = 1024

// Rule permits calls of one tool: all of them, or those whose subject fits the
// pattern. The zero Rule permits nothing.
type Rule struct {
	Tool    string
	Pattern string // as it is written between the parentheses; empty: everything
	Outside bool   // bash!(…): the very command, and outside the box where there is one
}

// Parse reads a rule: a tool's name, alone or with a pattern in parentheses. In a
// pattern a backslash takes the meaning of the next character away; parentheses
// need one.
func Parse(s string) (Rule, error) {
	name, rest, patterned := strings.Cut(s, "(")
	written := name
	name, outside := strings.CutSuffix(name, "!")
	if outside && (name != shell || !patterned) {
		return Rule{}, fault.New(fault.InvalidConfig, "rule %.80q: only %s!(COMMAND) runs outside the box", s, shell).
			WithHint("write the very command between the parentheses")
	}
	if tools := toolNames(); !slices.Contains(tools, name) {
		f := fault.New(fault.InvalidConfig, "rule %.80q: there is no tool %.40q", s, name)
		return Rule{}, f.WithHint("%s", text.NearestHint(strings.ToLower(name), tools, "the tools are: "+strings.Join(tools, ", ")))
	}
	if !patterned {
		return Rule{Tool: name}, nil
	}
	pattern, at, why := parsePattern(rest)
	if why == "" {
		at, why = checkPattern(name, pattern)
	}
	if why == "" && outside && hasStar(pattern) {
		at, why = 0, "a * in a rule that runs outside the box, which takes the very command"
	}
	if why != "" {
		return Rule{}, fault.New(fault.InvalidConfig, "rule %.80q: %s at character %d", s, why,
			utf8.RuneCountInString(written)+2+utf8.RuneCountInString(rest[:min(at, len(rest))])).
			WithHint("write it like bash(go test *) or write(docs/**); \\ before a character takes its meaning away")
	}
	return Rule{Tool: name, Pattern: pattern, Outside: outside}, nil
}

// ParseAll reads rules with semicolons between them, as the setting `allow` has
// them.
func ParseAll(s string) ([]Rule, error) {
	var out []Rule
	for _, one := range text.SplitOutside(s, ";", "()") {
		r, err := Parse(one)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// String returns what Parse reads.
func (r Rule) String() string {
	name := r.Tool
	if r.Outside {
		name += "!"
	}
	if r.Pattern == "" {
		return name
	}
	return name + "(" + r.Pattern + ")"
}

// hasStar reports whether a pattern has a * that stands for something.
func hasStar(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '*':
			return true
		}
	}
	return false
}

// parsePattern returns what stands before the closing parenthesis, which must be the last
// character; else where and what is wrong.
func parsePattern(rest string) (pattern string, at int, why string) {
	escaped := false
	for i, c := range rest {
		switch {
		case c == utf8.RuneError || unicode.IsControl(c):
			return "", i, "a character that no pattern can have"
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '(':
			return "", i, "a parenthesis without a backslash"
		case c == ')' && i < len(rest)-1:
			return "", i + 1, "something after the closing parenthesis"
		case c == ')':
			return rest[:i], 0, ""
		}
	}
	return "", len(rest), "no closing parenthesis"
}

func checkPattern(tool, pattern string) (at int, why string) {
	switch {
	case strings.TrimSpace(pattern) == "":
		return 0, "no pattern"
	case len(pattern) > maxPattern:
		return maxPattern, "a pattern that is too long"
	case tool == shell:
		return checkCommand(pattern)
	case tool == servers:
		return checkServer(pattern)
	case tool == Network:
		return checkHost(pattern)
	}
	return checkPath(pattern)
}

func checkPath(pattern string) (at int, why string) {
	if !doublestar.ValidatePattern(pattern) {
		for at = len(pattern); at > 0 && doublestar.ValidatePattern(pattern[at:]); {
			at--
		}
		return at, "a bracket, brace or backslash that is not closed"
	}
	if strings.HasPrefix(pattern, "/") {
		return 0, "a path that is not relative to the workspace"
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == ".." || part == "." || part == "" {
			return at, "an empty, . or .. part of a path"
		}
		at += len(part) + 1
	}
	return 0, ""
}

// Permits reports whether rules permit a tool to act on a subject.
func Permits(rules []Rule, tool, subject string) bool {
	_, ok := matchRules(rules, tool, subject)
	return ok
}

// matchRules finds the rules that together permit a tool to act on a subject: one, or
// for a command line one for each of its commands.
func matchRules(rules []Rule, tool, subject string) (by []Rule, ok bool) {
	var patterns []Rule
	for _, r := range rules {
		switch {
		case r.Tool == "" || r.Tool != tool:
		case tool == Network:
			if matchHost(r.Pattern, subject) {
				return []Rule{r}, true
			}
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

// checkServer checks a pattern that names an MCP server, one of its tools, or one of its tools with
// the digest that the rule is bound to.
func checkServer(pattern string) (at int, why string) {
	name, digest, bound := strings.Cut(pattern, "@")
	at = strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
	if at >= 0 {
		return at, "a character that the name of a server or of its tool cannot have"
	}
	if bound && (digest == "" || strings.Trim(digest, "0123456789abcdef") != "") {
		return len(name) + 1, "no digest"
	}
	return 0, ""
}

// matchServer finds the rule that permits a tool, whose name begins with that of its server.
func matchServer(patterns []Rule, name string) ([]Rule, bool) {
	server, _, _ := strings.Cut(name, "__")
	for _, r := range patterns {
		if named, _, bound := strings.Cut(r.Pattern, "@"); named == name || named == server && !bound {
			return []Rule{r}, true
		}
	}
	return nil, false
}

// bindRules returns the rules that hold for a tool of a server as it is now. If one of the others names the
// tool, why says why that one does not hold.
func bindRules(rules []held, s tool.Spec) (bound []held, why string) {
	if s.Digest == "" {
		return rules, ""
	}
	holds := func(r held) bool {
		if r.Tool != servers {
			return true
		}
		if _, digest, bound := strings.Cut(r.Pattern, "@"); bound {
			return digest == s.Digest
		}
		return s.Unproven == "" || r.given
	}
	for _, r := range rules {
		if !holds(r) && Permits([]Rule{r.Rule}, servers, s.Name) {
			why = "the rule " + r.String() + " does not permit it: " + s.Unproven
			if s.Unproven == "" {
				why = "the rule " + r.String() + " was given for another description or other arguments of this tool"
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r held) bool { return !holds(r) }), why
}
