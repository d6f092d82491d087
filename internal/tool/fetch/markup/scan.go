package markup

import "strings"

// Kind is what a token is.
type Kind int

// The kinds of tokens. Comments, doctypes and instructions are none.
const (
	Text Kind = iota
	Start
	End
)

// Token is a text, the beginning of an element or its end.
type Token struct {
	Kind   Kind
	Name   string // of an element, in lower case
	Text   string // without references; of an element whose inner text is read as such: that text
	Attr   []Attr
	Closed bool // it ends with a slash
}

// Scanner reads tokens, from the beginning to the end.
type Scanner struct {
	in      string
	at      int
	foreign bool // within drawings and formulas: all text is of the usual sort
	data    bool // an element of those is the innermost: it may hold text that nothing in it ends
	newline bool // a line feed that comes next is left out: it only ends the line of a tag
	looked  int  // how many bytes and elements were looked at, for tests
}

// Scan begins to read.
func Scan(text string) *Scanner { return &Scanner{in: text} }

// Next is the next token; false at the end.
func (s *Scanner) Next() (Token, bool) {
	for s.at < len(s.in) {
		if text := s.text(); text != "" {
			return Token{Kind: Text, Text: text}, true
		}
		if s.at >= len(s.in) {
			break
		}
		if t, ok := s.markup(); ok {
			return t, true
		}
	}
	return Token{}, false
}

// text goes on to where a tag, a comment or the like begins.
func (s *Scanner) text() string {
	begin := s.at
	for s.at < len(s.in) {
		n := strings.IndexByte(s.in[s.at:], '<')
		if n < 0 {
			s.at = len(s.in)
			break
		}
		if s.at += n; s.at+1 < len(s.in) && begins(s.in[s.at+1]) {
			break
		}
		s.at++
	}
	s.looked += s.at - begin
	text := s.in[begin:s.at]
	if text != "" && s.newline {
		text, s.newline = strings.TrimPrefix(text, "\n"), false
	}
	return plain(text)
}

// begins tells whether a sign behind < makes it more than text.
func begins(c byte) bool { return letter(c) || c == '/' || c == '!' || c == '?' }

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// markup reads what begins at <; what is neither the beginning nor the end of an element is left out.
func (s *Scanner) markup() (Token, bool) {
	rest := s.in[s.at:]
	switch {
	case letter(rest[1]):
		s.newline = false
		t, ok := s.tag(1)
		if ok {
			s.inner(&t)
		}
		return t, ok
	case rest[1] == '/' && len(rest) > 2 && letter(rest[2]):
		s.newline = false
		t, ok := s.tag(2)
		t.Kind = End
		return t, ok
	case rest == "</":
		s.at = len(s.in)
		return Token{Kind: Text, Text: rest}, true
	case strings.HasPrefix(rest, "<!--"):
		s.skip(4, commentEnd(rest[4:]))
	case s.data && strings.HasPrefix(rest, "<![CDATA["):
		text, _, _ := strings.Cut(rest[9:], "]]>")
		s.skip(9, len(text)+3)
		return Token{Kind: Text, Text: strings.ReplaceAll(text, "\x00", "")}, text != ""
	default: // an instruction, a doctype, an end without a name
		if n := strings.IndexByte(rest, '>'); n >= 0 {
			s.skip(0, n+1)
		} else {
			s.skip(0, len(rest))
		}
	}
	return Token{}, false
}

func (s *Scanner) skip(opening, length int) {
	begin := s.at
	s.at = min(s.at+opening+length, len(s.in))
	s.looked += s.at - begin
}

// commentEnd is the length of a comment's text with its end. One without an end goes on to the end of all.
func commentEnd(text string) int {
	if strings.HasPrefix(text, ">") {
		return 1
	}
	if strings.HasPrefix(text, "->") {
		return 2
	}
	for at := 0; ; at++ {
		n := strings.Index(text[at:], "--")
		if n < 0 {
			return len(text)
		}
		at += n
		if strings.HasPrefix(text[at+2:], ">") {
			return at + 3
		}
		if strings.HasPrefix(text[at+2:], "!>") {
			return at + 4
		}
	}
}
