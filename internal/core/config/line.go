package config

import (
	"iter"
	"strings"
)

// maxAttempts bounds the lines one value may take; a setting needs one.
const maxAttempts = 100

// replacements returns the ways to put a value in place of the key's, which is
// known to are in the given line or, if it takes several, to end there or
// begin there.
func replacements(text string, line int, key, value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		lines := strings.SplitAfter(text, "\n")
		for first := min(line, len(lines)-1); first >= max(0, line-maxAttempts); first-- {
			head, old, ok := strings.Cut(lines[first], "=")
			if !ok || strings.Trim(head, "\ufeff \t\"'") != key {
				continue
			}
			space := old[:len(old)-len(strings.TrimLeft(old, " \t"))]
			changed := strings.Join(lines[:first], "") + head + "=" + space + value + trailingRemark(old[len(space):])
			for next := first + 1; next <= min(len(lines), first+maxAttempts); next++ {
				if !yield(changed + strings.Join(lines[next:], "")) {
					return
				}
			}
		}
	}
}

// trailingRemark returns what follows the value in its line: spaces, a comment, the line's
// end.
func trailingRemark(old string) string {
	end := strings.IndexAny(old, "#\r\n") // of a number, a date, true or false
	if quote := strings.IndexAny(old, `"'`); quote == 0 {
		for end = 1; end < len(old) && old[end] != old[0]; end++ {
			if old[0] == '"' && old[end] == '\\' {
				end++
			}
		}
		end = min(end+1, len(old))
	}
	if end < 0 {
		return ""
	}
	rest := old[end:]
	if trimmed := strings.TrimLeft(rest, " \t"); strings.HasPrefix(trimmed, "#") || strings.Trim(trimmed, "\r\n") == "" {
		if quoteless := strings.TrimRight(old[:end], " \t"); quoteless != old[:end] {
			rest = old[len(quoteless):] // the spaces before the comment
		}
		return rest
	}
	return lineEnd(old) // the rest belongs to a value of several lines
}

// insertions returns the ways to add a line: at the end, else before a table,
// since what follows a table's head belongs to it.
func insertions(text, line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		end := lineEnd(text)
		if end == "" {
			end = "\n"
			if text != "" {
				line = "\n" + line
			}
		}
		if !yield(text + line + end) {
			return
		}
		lines := strings.SplitAfter(text, "\n")
		tried := 0
		for i, l := range lines {
			if !strings.HasPrefix(strings.TrimLeft(l, " \t"), "[") {
				continue
			}
			if tried++; tried > maxAttempts {
				return
			}
			before, after := strings.Join(lines[:i], ""), strings.Join(lines[i:], "")
			if !yield(before + strings.TrimPrefix(line, "\n") + end + after) {
				return
			}
		}
	}
}

// lineEnd returns how the last line ends: "\n", "\r\n" or not at all.
func lineEnd(text string) string {
	switch {
	case strings.HasSuffix(text, "\r\n"):
		return "\r\n"
	case strings.HasSuffix(text, "\n"):
		return "\n"
	}
	return ""
}
