package syntax

import "bytes"

// ending is what a block of HTML ends with.
type ending uint8

const (
	atBlank   ending = iota // an empty line
	atTag                   // </script>, </pre>, </style>, </textarea>
	atComment               // -->
	atProgram               // ?>
	atOrder                 // >
	atData                  // ]]>
)

// openHTML opens a block of HTML.
func (r *reader) openHTML(rest []byte, depth int) bool {
	end, ok := r.words.htmlStart(rest, !r.isText())
	if !ok {
		return false
	}
	r.closeTo(depth)
	r.leaf, r.ending = r.block(HTML, r.next), end
	r.addHTML()
	return true
}

// addHTML adds a line to a block of HTML, which may be its last.
func (r *reader) addHTML() {
	rest := r.rest()
	r.addLine()
	if r.ending != atBlank && ends(rest, r.ending) {
		r.leaf = nil
	}
}

func ends(line []byte, e ending) bool {
	switch e {
	case atComment:
		return bytes.Contains(line, []byte("-->"))
	case atProgram:
		return bytes.Contains(line, []byte("?>"))
	case atOrder:
		return bytes.IndexByte(line, '>') >= 0
	case atData:
		return bytes.Contains(line, []byte("]]>"))
	case atTag:
		for {
			i := bytes.Index(line, []byte("</"))
			if i < 0 {
				return false
			}
			line = line[i+2:]
			if n := run(line, isLetter); n < len(line) && line[n] == '>' && isVerbatim(line[:n]) {
				return true
			}
		}
	}
	return false
}

// htmlStart is what a block of HTML ends with that begins with a line. Where it interrupts no text, any
// tag begins one that stands alone on its line.
func (m *meter) htmlStart(rest []byte, anyTag bool) (ending, bool) {
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		return atComment, true
	case bytes.HasPrefix(rest, []byte("<?")):
		return atProgram, true
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return atData, true
	case len(rest) > 2 && rest[1] == '!' && isLetter(rest[2]):
		return atOrder, true
	}
	name, closing := rest[1:], false
	if len(name) > 0 && name[0] == '/' {
		name, closing = name[1:], true
	}
	n := run(name, isTagName)
	behind := name[n:]
	name = name[:n]
	ended := len(behind) == 0 || behind[0] == ' ' || behind[0] == '\t' || behind[0] == '>'
	if !closing && ended && isVerbatim(name) {
		return atTag, true
	}
	if (ended || bytes.HasPrefix(behind, []byte("/>"))) && isBlockTag(name) {
		return atBlank, true
	}
	if n := m.tagAt(rest); anyTag && n > 0 && len(bytes.TrimRight(rest[n:], " \t")) == 0 {
		return atBlank, true
	}
	return 0, false
}

func isTagName(c byte) bool { return isWord(c) || c == '-' }

// small is a name in small letters; "": it is longer than any that matters.
func small(name []byte, buffer *[12]byte) []byte {
	if len(name) > len(buffer) {
		return nil
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		buffer[i] = c
	}
	return buffer[:len(name)]
}

// isVerbatim: within these even empty lines belong to the HTML.
func isVerbatim(name []byte) bool {
	var b [12]byte
	switch string(small(name, &b)) {
	case "script", "pre", "style", "textarea":
		return true
	}
	return false
}

// isBlockTag: these begin a block wherever they stand.
func isBlockTag(name []byte) bool {
	var b [12]byte
	switch string(small(name, &b)) {
	case "address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center", "col", "colgroup", "dd", "details",
		"dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frame", "frameset", "h1", "h2", "h3", "h4",
		"h5", "h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link", "main", "menu", "menuitem", "nav", "noframes", "ol",
		"optgroup", "option", "p", "param", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr",
		"track", "ul":
		return true
	}
	return false
}

// tagAt is the length of the tag that a text begins with; 0: it begins with none.
func (m *meter) tagAt(b []byte) int {
	at := 1
	closing := len(b) > 1 && b[1] == '/'
	if closing {
		at++
	}
	if at >= len(b) || !isLetter(b[at]) {
		return 0
	}
	at += run(b[at:], isTagName)
	for {
		space := run(b[at:], isSpace)
		at += space
		m.looked += space + 1
		if at < len(b) && b[at] == '>' {
			return at + 1
		}
		if closing {
			return 0
		}
		if at+1 < len(b) && b[at] == '/' && b[at+1] == '>' {
			return at + 2
		}
		n := m.attributeAt(b[at:])
		if space == 0 || n == 0 {
			return 0
		}
		at += n
	}
}

// attributeAt is the length of an attribute of a tag.
func (m *meter) attributeAt(b []byte) int {
	if len(b) == 0 || !isLetter(b[0]) && b[0] != '_' && b[0] != ':' {
		return 0
	}
	name := run(b, func(c byte) bool { return isWord(c) || c == '_' || c == ':' || c == '.' || c == '-' })
	at := name + run(b[name:], isSpace)
	m.looked += at
	if at == len(b) || b[at] != '=' {
		return name
	}
	at++
	at += run(b[at:], isSpace)
	if at == len(b) {
		return 0
	}
	if c := b[at]; c == '"' || c == '\'' {
		end := bytes.IndexByte(b[at+1:], c)
		m.looked += max(end, 0)
		if end < 0 {
			m.looked += len(b)
			return 0
		}
		return at + end + 2
	}
	value := run(b[at:], func(c byte) bool { return !isSpace(c) && bytes.IndexByte([]byte("\"'=<>`"), c) < 0 })
	if value == 0 {
		return 0
	}
	return at + value
}
