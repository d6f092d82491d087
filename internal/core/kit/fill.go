package kit

import (
	"strconv"
	"strings"

	"ramet/internal/base/text"
)

var placeholder = text.Regexp(`\$(ARGUMENTS|[1-9])`)

// Fill returns the prompt of a command with arguments: $ARGUMENTS is all of them, $1 the first. A
// command that names none gets them at its end.
func (c Command) Fill(args string) string {
	args = strings.TrimSpace(args)
	given := splitFields(args)
	named := false
	out := placeholder().ReplaceAllStringFunc(c.Body, func(p string) string {
		named = true
		if p == "$ARGUMENTS" {
			return args
		}
		if n, err := strconv.Atoi(p[1:]); err == nil && n <= len(given) {
			return given[n-1]
		}
		return ""
	})
	if !named && args != "" {
		out += "\n\n" + args
	}
	return out
}

// splitFields returns the words of arguments; quotes hold words together.
func splitFields(s string) []string {
	var out []string
	var b strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			out = append(out, b.String())
		}
		b.Reset()
		open = false
	}
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			end()
		default:
			b.WriteRune(r)
			open = true
		}
	}
	end()
	return out
}

// Shell is a command line that is in a prompt, to be replaced by what it prints.
type Shell struct {
	Start, End int
	Line       string
}

var shellForm = text.Regexp("!`([^`\n]+)`")

// Shells returns the command lines of a command's own text, written !`LINE`. Arguments bring none.
func Shells(body string) []Shell {
	var out []Shell
	for _, m := range shellForm().FindAllStringSubmatchIndex(body, -1) {
		out = append(out, Shell{m[0], m[1], body[m[2]:m[3]]})
	}
	return out
}

// Words returns the words of a line; quotes hold some together.
func Words(line string) []string { return splitFields(line) }
