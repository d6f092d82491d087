package permit

import (
	"slices"
	"strings"

	"ramet/internal/turn/tool"
)

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
