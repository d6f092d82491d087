package markup

import "strings"

// tag reads a tag whose name begins so far behind <. One that does not end is left out, with all that follows.
func (s *Scanner) tag(opening int) (Token, bool) {
	begin := s.at
	defer func() { s.looked += s.at - begin }()
	s.at += opening
	t := Token{Kind: Start, Name: strings.ReplaceAll(lower(s.until(false)), "\x00", "\uFFFD")}
	for {
		t.Closed = s.between()
		if s.at >= len(s.in) {
			return t, false
		}
		if s.in[s.at] == '>' {
			s.at++
			return t, true
		}
		key, value, ok := s.attribute()
		if !ok {
			return t, false
		}
		if key = lower(key); useful(key) {
			if t.has(key) { // the first one counts
				continue
			}
			t.Attr = append(t.Attr, Attr{key, attribute(value)})
		}
	}
}

func (t *Token) has(key string) bool {
	for _, a := range t.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

// useful are the attributes that are kept. They are few, so that a tag with very many costs no more than its length.
func useful(key string) bool {
	switch key {
	case "href", "src", "alt", "title", "class", "start", "value", "hidden", "aria-hidden", "style", "role", "align", "colspan", "rowspan",
		"charset", "content", "http-equiv", "encoding", "color", "face", "size":
		return true
	}
	return false
}

// between goes over what separates attributes, and tells whether it ended with a slash at the end of the tag.
func (s *Scanner) between() (closed bool) {
	for s.at < len(s.in) && (space(s.in[s.at]) || s.in[s.at] == '/') {
		closed = s.in[s.at] == '/'
		s.at++
	}
	return closed && s.at < len(s.in) && s.in[s.at] == '>'
}

// until goes on to the end of a name.
func (s *Scanner) until(key bool) string {
	begin := s.at
	for s.at < len(s.in) {
		c := s.in[s.at]
		if space(c) || c == '/' || c == '>' || key && c == '=' && s.at > begin {
			break
		}
		s.at++
	}
	return s.in[begin:s.at]
}

func (s *Scanner) spaces() {
	for s.at < len(s.in) && space(s.in[s.at]) {
		s.at++
	}
}

// attribute reads a key, and a value where there is one; false where the text ends before.
func (s *Scanner) attribute() (key, value string, ok bool) {
	key = s.until(true)
	s.spaces()
	if s.at >= len(s.in) || s.in[s.at] != '=' {
		return key, "", s.at < len(s.in)
	}
	s.at++
	s.spaces()
	if s.at >= len(s.in) {
		return key, "", false
	}
	if quote := s.in[s.at]; quote == '"' || quote == '\'' {
		s.at++
		n := strings.IndexByte(s.in[s.at:], quote)
		if n < 0 {
			s.at = len(s.in)
			return key, "", false
		}
		value = s.in[s.at : s.at+n]
		s.at += n + 1
		return key, value, true
	}
	begin := s.at
	for s.at < len(s.in) && !space(s.in[s.at]) && s.in[s.at] != '>' {
		s.at++
	}
	return key, s.in[begin:s.at], s.at < len(s.in)
}
