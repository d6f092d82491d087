package markup

import "strings"

// inner reads the text of elements in which < begins nothing but their own end, and that end.
func (s *Scanner) inner(t *Token) {
	if s.foreign {
		return
	}
	begin, raw := s.at, true
	switch t.Name {
	case "script":
		s.at += scriptEnd(s.in[s.at:])
	case "style", "noscript", "iframe", "xmp", "noembed", "title", "textarea":
		s.at += rawEnd(s.in[s.at:], t.Name)
		if t.Text = s.in[begin:s.at]; t.Name == "title" {
			t.Text = plain(t.Text)
		}
	case "plaintext":
		s.at = len(s.in)
		t.Text = s.in[begin:]
	case "pre", "listing":
		s.newline, raw = true, false
	default:
		raw = false
	}
	s.looked += s.at - begin
	if raw && s.at < len(s.in) {
		s.tag(2)
	}
}

// rawEnd is where the end tag of that name begins, or the end of all.
func rawEnd(text, name string) int {
	for at := 0; ; at++ {
		n := strings.Index(text[at:], "</")
		if n < 0 {
			return len(text)
		}
		if at += n; named(text[at+2:], name) {
			return at
		}
	}
}

// named tells whether a tag has that name.
func named(text, name string) bool {
	if len(text) <= len(name) || !strings.EqualFold(text[:len(name)], name) {
		return false
	}
	c := text[len(name)]
	return space(c) || c == '/' || c == '>'
}

// scriptEnd is where the end tag of a script begins. In a comment of a script another one may stand, with its end.
func scriptEnd(text string) int {
	comment, nested := false, false
	for at := 0; at < len(text); at++ {
		n := strings.IndexAny(text[at:], "<-")
		if n < 0 {
			break
		}
		at += n
		rest := text[at:]
		switch {
		case strings.HasPrefix(rest, "<!--"):
			comment = true
			at++ // the dashes may be those of its end, too
		case comment && strings.HasPrefix(rest, "-->"):
			comment, nested = false, false
		case comment && rest[0] == '<' && named(rest[1:], "script"):
			nested = true
		case strings.HasPrefix(rest, "</") && named(rest[2:], "script"):
			if !nested {
				return at
			}
			nested = false
		}
	}
	return len(text)
}
