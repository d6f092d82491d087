package offline

import (
	"strings"

	"ramet/internal/base/text"
)

func run(line string, bare bool) []step {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	out := one("bash", "run "+name(line), map[string]any{"command": line})
	out[0].shell = bare
	return out
}

var aside = text.Regexp(`(?i)^\s*(?:(?:in|with|the|a|shell|command|bash|now|again|once|here)\s*)*$`)

// command takes what is quoted, if there is something, else all of it.
func command(m []string) []step {
	quoted, rest := allQuoted(m[1])
	if _, whole := literal(m[1]); whole {
		return run(plain(m[1]), false)
	}
	if len(quoted) == 1 && strings.Contains(m[1], "`") && aside().MatchString(rest) {
		return run(quoted[0], false)
	}
	if strings.Contains(mask(m[1]), "`") || len(quoted) > 0 && strings.HasPrefix(strings.TrimSpace(m[1]), "`") {
		return nil // something around it that was not understood
	}
	if vague().MatchString(m[1]) || strings.Contains(strings.ToLower(mask(m[1])), " and ") {
		return nil // "the tests": nobody told how. "a and b": the shell does not say it so
	}
	return run(m[1], true)
}

// vague begins what tells of a thing and does not name it.
var vague = text.Regexp(`(?i)^(?:the|an?|all|some|my|our|your|it|this|that|these|those)(?:\s|$)`)
