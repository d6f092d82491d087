package text

import "strings"

// Mention is a path that a text names behind an @, as @docs/style.md does.
type Mention struct {
	Start, End int // of the whole mention, in bytes
	Path       string
}

// Mentions finds the paths that a Markdown text names, in their order. What is in code,
// between backticks or fences, names nothing; nor does an @ inside of a word.
func Mentions(s string) []Mention {
	var out []Mention
	fence := ""
	at := 0
	for line := range strings.Lines(s) {
		bare := strings.TrimLeft(line, " \t>")
		switch mark := fenceOf(bare); {
		case fence != "" && mark != "" && strings.HasPrefix(mark, fence):
			fence = ""
		case fence != "":
		case mark != "":
			fence = mark
		default:
			out = appendMentions(out, line, at)
		}
		at += len(line)
	}
	return out
}

// fenceOf returns the run of three or more backticks or tildes that a line begins with.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// appendMentions reads one line, which begins at a place of the text.
func appendMentions(out []Mention, line string, base int) []Mention {
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '`':
			run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			rest := line[i+run:]
			if end := strings.Index(rest, line[i:i+run]); end >= 0 {
				i += run + end + run - 1
			} else {
				i += run - 1
			}
		case line[i] == '@' && (i == 0 || strings.IndexByte(" \t(>*-", line[i-1]) >= 0):
			end := i + 1
			for end < len(line) && strings.IndexByte(" \t\r\n`\"'()<>[]{}|", line[end]) < 0 {
				end++
			}
			path := strings.TrimRight(line[i+1:end], ".,;:!?*")
			if path != "" {
				out = append(out, Mention{base + i, base + i + 1 + len(path), path})
			}
			i = end - 1
		}
	}
	return out
}
