package permit

import (
	"slices"
	"strings"
	"unicode"

	"ramet/internal/base/text"
)

// A command pattern is words. Each is matched against one word of a simple command,
// and * in it stands for any characters of that word; a last word that is only * stands
// for any further arguments, or none.
type command struct {
	words []glob
	more  bool // the last word was *
}

// glob is a word of a pattern, cut at its stars.
type glob struct {
	pieces []string
	assign bool // NAME=… in front of the command
}

var assignment = text.Regexp(`^[A-Za-z_][A-Za-z0-9_]*=`)

// parseCommand reads a pattern that checkCommand has nothing against.
func parseCommand(pattern string) command {
	var c command
	var word *glob
	piece := func(s string) { word.pieces[len(word.pieces)-1] += s }
	escaped := false
	for _, r := range pattern {
		if !escaped && r == ' ' {
			word = nil
			continue
		}
		if word == nil {
			c.words = append(c.words, glob{pieces: []string{""}})
			word = &c.words[len(c.words)-1]
		}
		switch {
		case escaped:
			escaped = false
			piece(string(r))
		case r == '\\':
			escaped = true
		case r == '*':
			word.pieces = append(word.pieces, "")
		default:
			piece(string(r))
		}
	}
	for i := range c.words {
		// Only a name that is written out is one: the first piece holds it all.
		if !assignment().MatchString(c.words[i].pieces[0]) {
			break
		}
		c.words[i].assign = true
	}
	if last := len(c.words) - 1; last >= 0 && slices.Equal(c.words[last].pieces, []string{"", ""}) {
		c.words, c.more = c.words[:last], true
	}
	return c
}

// checkCommand describes what is wrong with a pattern, and where.
func checkCommand(pattern string) (at int, why string) {
	if trailing := len(pattern) - len(strings.TrimRight(pattern, `\`)); trailing%2 == 1 {
		return len(pattern) - 1, "a backslash before nothing"
	}
	for i, r := range pattern {
		if unicode.IsSpace(r) && r != ' ' {
			return i, "white space other than a blank"
		}
	}
	c := parseCommand(pattern)
	for _, w := range c.words {
		if !w.assign {
			return 0, ""
		}
	}
	return 0, "a pattern that names no command (bash without a pattern permits all)"
}

// fits reports whether the pattern permits a simple command.
func (c command) fits(words []word) bool {
	if len(words) < len(c.words) || len(words) > len(c.words) && !c.more {
		return false
	}
	for i, w := range words {
		if i >= len(c.words) {
			return true // arguments: parse lets no assignment stand there
		}
		if w.assign != c.words[i].assign || w.open || !c.words[i].fits(w.text) {
			return false
		}
	}
	return true
}

// fits matches one word. A star never stands for a way up, so that scripts/* does
// not fit scripts/../../bin/rm.
func (g glob) fits(s string) bool {
	first, rest := g.pieces[0], g.pieces[1:]
	if len(rest) == 0 {
		return s == first
	}
	if !strings.HasPrefix(s, first) || leavesFolder(s) {
		return false
	}
	s = s[len(first):]
	for _, p := range rest[:len(rest)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, rest[len(rest)-1])
}

func leavesFolder(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}
