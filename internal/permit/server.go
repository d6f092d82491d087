package permit

import "strings"

// checkServer wants the name of an MCP server, or of one of its tools.
func checkServer(pattern string) (at int, why string) {
	at = strings.IndexFunc(pattern, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
	if at >= 0 {
		return at, "a character that the name of a server or of its tool cannot have"
	}
	return 0, ""
}

// matchServer finds the rule that permits a tool, whose name begins with that of its server.
func matchServer(patterns []Rule, name string) ([]Rule, bool) {
	server, _, _ := strings.Cut(name, "__")
	for _, r := range patterns {
		if r.Pattern == name || r.Pattern == server {
			return []Rule{r}, true
		}
	}
	return nil, false
}
