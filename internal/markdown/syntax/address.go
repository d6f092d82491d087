package syntax

import (
	"bytes"
	"strings"
)

// address reads an address that stands in a text without any marks: of a page, or of somebody.
func (p *inliner) address() bool {
	line := p.text[p.at:]
	mark, length := byte(0), p.pageAt(line)
	switch {
	case length > 0 && line[0] == 'w':
		mark = 'w'
	case length == 0:
		mark, length = '@', p.personAt(line)
	}
	if length == 0 {
		return false
	}
	a := p.node(Address, p.span(p.at, p.at+length))
	a.Mark = mark
	p.found(a, p.at+length)
	return true
}

// Letters of addresses, besides those of ASCII and digits.
const (
	inHost  = "-@:%._+~#="
	inPath  = inHost + "!?&/();,'\">^{}[]`$"
	behind  = "?!.,:*_~" // which ends a sentence, or a mark, and not an address
	longest = 256        // of a host, but for its last part
)

func isHost(c byte) bool { return isWord(c) || strings.IndexByte(inHost, c) >= 0 }

func isPath(c byte) bool { return isWord(c) || strings.IndexByte(inPath, c) >= 0 }

// schemeAt is the length of what addresses of pages begin with; named: it names a protocol.
func schemeAt(line []byte) (length int, named bool) {
	switch line[0] {
	case 'h', 'f', 'w':
	default:
		return 0, false
	}
	for _, s := range [...]string{"http://", "https://", "ftp://", "www."} {
		if len(line) >= len(s) && string(line[:len(s)]) == s {
			return len(s), s != "www."
		}
	}
	return 0, false
}

// pageAt is the length of the address of a page that a line begins with; 0: it begins with none.
func (p *inliner) pageAt(line []byte) int {
	scheme, named := schemeAt(line)
	if scheme == 0 {
		return 0
	}
	host := hostAt(line[scheme:])
	p.looked += longest
	if host == 0 {
		return 0
	}
	end := scheme + host
	if named && end < len(line) && line[end] == ':' {
		if port := run(line[end+1:], isDigit); port > 0 {
			end += 1 + port
		}
	}
	if end < len(line) && (line[end] == '/' || line[end] == '#' || line[end] == '?') {
		end += run(line[end:], isPath)
	}
	p.looked += end
	return sentence(line, unclosed(line[:end]))
}

// hostAt is the length of the name of a host: its last part, behind the last dot that can be
// one, is of small letters.
func hostAt(b []byte) int {
	most := run(b[:min(len(b), longest)], isHost)
	for dot := most; dot > 0; dot-- {
		if dot+1 < len(b) && b[dot] == '.' && isSmall(b[dot+1]) {
			return dot + 1 + run(b[dot+1:], isSmall)
		}
	}
	return 0
}

// unclosed is the length of an address without what belongs to the text around it: the dot of a
// sentence, parentheses that it does not open, an entity.
func unclosed(b []byte) int {
	end := len(b)
	switch b[end-1] {
	case '.':
		return end - 1
	case ')':
		return end - max(0, bytes.Count(b, []byte(")"))-bytes.Count(b, []byte("(")))
	case ';':
		name := end - 1
		for name > 0 && isWord(b[name-1]) {
			name--
		}
		if name < end-1 && name > 0 && b[name-1] == '&' {
			return name - 1
		}
	}
	return end
}

// sentence is the length of an address without the marks behind it.
func sentence(line []byte, end int) int {
	for end > 1 && strings.IndexByte(behind, line[end-1]) >= 0 {
		end--
	}
	return end
}

// personAt is the length of the address of somebody that a line begins with; 0: none.
func (p *inliner) personAt(line []byte) int {
	if p.at < p.nobody || isMark(line[0]) {
		return 0
	}
	name := run(line, isName)
	p.looked += name
	if name == 0 || name == len(line) || line[name] != '@' {
		// Nor does one begin in the middle of the name.
		p.nobody = p.at + name
		return 0
	}
	end := mailAt(line)
	p.looked += end
	if end == 0 || bytes.IndexByte(line[name:end-1], '.') < 0 {
		p.nobody = p.at + name
		return 0
	}
	if line[end-1] == '.' {
		end--
	}
	if end < len(line) && (line[end] == '-' || line[end] == '_') {
		return 0
	}
	return sentence(line, end)
}

// isName: before the "@" of an address.
func isName(c byte) bool { return isWord(c) || strings.IndexByte(".!#$%&'*+/=?^_`{|}~-", c) >= 0 }

// longestPart of the name of a host.
const longestPart = 63

// mailAt is the length of the address of somebody that a text begins with; 0: it begins with none.
// Parts of its host are of letters, digits and, between these, "-".
func mailAt(b []byte) int {
	at := run(b, isName)
	if at == 0 || at == len(b) || b[at] != '@' {
		return 0
	}
	for {
		n := hostPart(b[at+1:])
		if n == 0 {
			if b[at] == '@' {
				return 0
			}
			return at
		}
		if at += 1 + n; at == len(b) || b[at] != '.' {
			return at
		}
	}
}

// hostPart is the length of a part of a host.
func hostPart(b []byte) int {
	n := run(b[:min(len(b), longestPart)], func(c byte) bool { return isWord(c) || c == '-' })
	for n > 0 && b[n-1] == '-' {
		n--
	}
	if n == 0 || b[0] == '-' {
		return 0
	}
	return n
}
