package markdown

import (
	"path"
	"strings"
)

// Code colors code line by line: words, strings, comments and numbers. Its state is what a line leaves open, a comment
// or a string.
type Code struct {
	lang  *language // nil: plain
	until string    // what ends the thing that is open
	open  token
	raw   bool // in which a backslash means nothing
	hunk  hunk // of a diff
}

// Span is a piece of a line in one style.
type Span struct {
	Text  string
	Style Style
}

// NewCode returns the state before code in a language.
func NewCode(language string) *Code { return &Code{lang: languageOf(language)} }

// CodeOf returns the state before the code in a file, by its name; nil if its language is not known.
func CodeOf(file string) *Code {
	name := path.Base(file)
	if ext := path.Ext(name); ext != "" {
		name = strings.TrimPrefix(ext, ".")
	}
	if c := NewCode(name); c.lang != nil {
		return c
	}
	return nil
}

// Again forgets what earlier lines left open.
func (c *Code) Again() { *c = Code{lang: c.lang} }

type token uint8

const (
	word token = iota
	keyword
	literal
	comment
	number
	key
)

func (t Theme) token(k token) Style {
	switch k {
	case keyword:
		return t.Keyword
	case literal:
		return t.String
	case comment:
		return t.Comment
	case number:
		return t.Number
	case key:
		return t.Key
	}
	return t.Plain
}

// Line colors the next line.
func (l *Code) Line(s string, theme Theme) []Span {
	if l.lang == nil {
		return []Span{{s, theme.Plain}}
	}
	if l.lang.diff {
		return []Span{{s, l.hunk.line(s, theme)}}
	}
	var spans []Span
	begun := 0 // where the last span begins
	add := func(from, to int, k token) {
		style := theme.token(k)
		if n := len(spans); n > 0 && spans[n-1].Style == style {
			spans[n-1].Text = s[begun:to]
		} else if to > from {
			spans, begun = append(spans, Span{s[from:to], style}), from
		}
	}
	for i := 0; i < len(s); {
		if l.until != "" {
			n, closed := l.inside(s[i:])
			add(i, i+n, l.open)
			if i += n; closed {
				l.until = ""
			}
			continue
		}
		n, k := l.next(s, i)
		add(i, i+n, k)
		i += n
	}
	if l.until != "" && !l.multi() {
		l.until = ""
	}
	return spans
}

// inside finds the end of what is open.
func (l *Code) inside(s string) (n int, closed bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && !l.raw && l.open == literal:
			i++
		case strings.HasPrefix(s[i:], l.until):
			return i + len(l.until), true
		}
	}
	return len(s), false
}

func (l *Code) multi() bool {
	if l.open == comment {
		return true
	}
	for _, q := range l.lang.quotes {
		if q.close == l.until {
			return q.lines
		}
	}
	return false
}

// next reads one token at i. What goes on is left open.
func (l *Code) next(s string, i int) (int, token) {
	g, rest := l.lang, s[i:]
	for _, c := range g.comments {
		if strings.HasPrefix(rest, c) && (c != "#" || i == 0 || s[i-1] == ' ') {
			return len(rest), comment
		}
	}
	if g.block[0] != "" && strings.HasPrefix(rest, g.block[0]) {
		l.until, l.open, l.raw = g.block[1], comment, true
		return len(g.block[0]), comment
	}
	for _, q := range g.quotes {
		if strings.HasPrefix(rest, q.open) && !(g.lifetimes && q.open == "'" && !isChar(rest)) {
			l.until, l.open, l.raw = q.close, literal, q.raw
			return len(q.open), literal
		}
	}
	n := 0
	for n < len(rest) && isLetter(rest[n]) {
		n++
	}
	switch {
	case n == 0:
		return 1 + tail(rest[1:]), word
	case rest[0] >= '0' && rest[0] <= '9':
		for n+1 < len(rest) && rest[n] == '.' && isLetter(rest[n+1]) {
			for n++; n < len(rest) && isLetter(rest[n]); n++ {
			}
		}
		return n, number
	}
	w := rest[:n]
	if g.keys && strings.HasPrefix(strings.TrimLeft(rest[n:], "-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), ":") && strings.Trim(s[:i], " -") == "" {
		return strings.IndexByte(rest, ':'), key
	}
	if g.fold {
		w = strings.ToLower(w)
	}
	if g.words[w] {
		return n, keyword
	}
	return n, word
}

// tail is how many bytes more belong to the character that began before s.
func tail(s string) int {
	n := 0
	for n < len(s) && s[n]&0xc0 == 0x80 {
		n++
	}
	return n
}

func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// isChar tells 'x' from the 'a of a lifetime.
func isChar(s string) bool {
	if len(s) > 1 && s[1] == '\\' {
		return true
	}
	end := strings.IndexByte(s[1:], '\'')
	return end >= 1 && end <= 4
}
