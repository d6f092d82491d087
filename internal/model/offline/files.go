package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"ramet/internal/base/text"
)

func replace(m []string) []step {
	old, with, file := plain(m[2]), plain(m[3]), plain(m[5])
	args := map[string]any{"path": file, "old_string": old, "new_string": with}
	if m[1] != "" || m[4] != "" || m[6] != "" {
		args["replace_all"] = true
	}
	// The tool demands that a file is read before it is edited.
	return []step{{kind: inTurn, calls: []call{
		{"read", map[string]any{"path": file}, "read " + name(file)},
		{"edit", args, fmt.Sprintf("replace %s with %s in %s", name(old), name(with), name(file))},
	}}}
}

func write(file, content string) []step {
	file = plain(strings.TrimRight(file, ","))
	content, quoted := literal(content)
	if file == "" || !quoted && vague().MatchString(content) {
		return nil // "a poem about the sea" is not what is to be written
	}
	return one("write", fmt.Sprintf("write %d bytes to %s", len(content), name(file)), map[string]any{"path": file, "content": content})
}

func createEmpty(m []string) []step {
	if p, quoted := literal(m[1]); quoted || strings.ContainsAny(p, "./") {
		return write(p, "")
	}
	return nil
}

var everywhere = text.Regexp(`(?i)^(?:(?:the|all|every|this|my|files?|folders?|directory|project|here|code|source|everything|everywhere|\.)\s*)*$`)

func search(what, where string) []step {
	pattern, quoted := literal(what)
	if n := len(pattern); !quoted && n > 2 && pattern[0] == '/' && pattern[n-1] == '/' {
		pattern = pattern[1 : n-1] // an expression
	} else {
		pattern = regexp.QuoteMeta(pattern)
	}
	if pattern == "" {
		return nil
	}
	args := map[string]any{"pattern": pattern}
	if where = plain(where); !everywhere().MatchString(where) {
		if strings.ContainsAny(where, "*?[{") {
			args["include"] = where
		} else {
			args["path"] = where
		}
	}
	return one("grep", "search for "+name(plain(what)), args)
}

// findIn looks for a file of that name, or for the text.
func findIn(m []string) []step {
	what := plain(m[1])
	if strings.ContainsAny(what, "*?[{") || path.Ext(what) != "" && !strings.ContainsAny(what, " \t(") {
		return find(m[1], m[2])
	}
	return search(m[1], m[2])
}

func find(what, where string) []step {
	pattern := plain(what)
	if pattern == "" {
		return nil
	}
	act := "look for files like " + name(pattern)
	if !strings.ContainsAny(pattern, "*?[{.") {
		pattern = "*" + pattern + "*"
	}
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	args := map[string]any{"pattern": pattern}
	if where = plain(where); !everywhere().MatchString(where) {
		args["path"] = where
	}
	return one("glob", act, args)
}

func list(m []string) []step {
	args := map[string]any{}
	act := "list the files"
	if len(m) > 1 {
		where := plain(m[1])
		if strings.HasPrefix(where, "-") {
			return nil
		}
		if !everywhere().MatchString(where) {
			args["path"] = where
			act += " of " + name(where)
		}
	}
	return one("list", act, args)
}

// read reads one file, or several.
func read(m []string) []step {
	var calls []call
	for _, p := range joined(m[1]) {
		p = strings.TrimSpace(p)
		file, quoted := literal(p)
		if file == "" || !quoted && (strings.ContainsAny(file, " \t\n`\"") || pronoun[strings.ToLower(file)]) {
			return nil
		}
		calls = append(calls, call{"read", map[string]any{"path": file}, "read " + name(file)})
	}
	if len(calls) > mostCalls {
		return nil
	}
	return []step{{kind: together, calls: calls}}
}

// mostCalls limits the calls of one answer.
const mostCalls = 16

// name shows a word of the order in a report.
func name(s string) string { return "`" + text.Line(strings.ReplaceAll(s, "`", "'"), 80) + "`" }
