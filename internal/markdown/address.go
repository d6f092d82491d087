package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// addresses reads addresses that stand in a text without any marks: of pages, and of people.
type addresses struct{}

// Trigger: a space is any white space, and the start of a line.
func (addresses) Trigger() []byte { return []byte(" *_~(") }

func (a addresses) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if pc.IsInLinkLabel() {
		return nil
	}
	line, segment := r.PeekLine()
	before := 0
	if bytes.IndexByte(a.Trigger(), line[0]) >= 0 {
		before = 1
	}
	line = line[before:]
	kind, protocol, length := ast.AutoLinkURL, []byte(nil), pageAt(line)
	switch {
	case length > 0 && line[0] == 'w':
		protocol = []byte("http")
	case length == 0:
		kind, length = ast.AutoLinkEmail, personAt(line)
	}
	if length == 0 {
		return nil
	}
	if before > 0 {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(segment.Start+before))
	}
	r.Advance(before + length)
	start := segment.Start + before
	link := ast.NewAutoLink(ast.AutoLinkType(kind), ast.NewTextSegment(text.NewSegment(start, start+length)))
	link.Protocol = protocol
	return link
}

// Letters of addresses, besides those of ASCII and digits.
const (
	inHost  = "-@:%._+~#="
	inPath  = inHost + "!?&/();,'\">^{}[]`$"
	behind  = "?!.,:*_~" // which ends a sentence, or a mark, and not an address
	longest = 256        // of a host, but for its last part
)

// pageAt is the length of the address of a page that a line begins with; 0: it begins with none.
func pageAt(line []byte) int {
	scheme, named := 0, false
	for _, s := range []string{"http://", "https://", "ftp://", "www."} {
		if bytes.HasPrefix(line, []byte(s)) {
			scheme, named = len(s), s != "www."
		}
	}
	if scheme == 0 {
		return 0
	}
	host := hostAt(line[scheme:])
	if host == 0 {
		return 0
	}
	end := scheme + host
	if port := end + 1 + run(line[min(end+1, len(line)):], "", isDigit); named && end < len(line) && line[end] == ':' && port > end+1 {
		end = port
	}
	if end < len(line) && bytes.IndexByte([]byte("/#?"), line[end]) >= 0 {
		end += run(line[end:], inPath, util.IsAlphaNumeric)
	}
	return sentence(line, unclosed(line[:end]))
}

// hostAt is the length of the name of a host: its last part, behind the last dot that can be
// one, is of small letters.
func hostAt(b []byte) int {
	most := min(run(b, inHost, util.IsAlphaNumeric), longest)
	for dot := most; dot > 0; dot-- {
		if dot+1 < len(b) && b[dot] == '.' && isSmall(b[dot+1]) {
			return dot + 1 + run(b[dot+1:], "", isSmall)
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
		for name > 0 && util.IsAlphaNumeric(b[name-1]) {
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
func personAt(line []byte) int {
	if len(line) == 0 || util.IsPunct(line[0]) {
		return 0
	}
	end := util.FindEmailIndex(line)
	if end < 0 || bytes.IndexByte(line[bytes.IndexByte(line, '@'):end-1], '.') < 0 {
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

// run is how many bytes are of a kind, or among others.
func run(b []byte, others string, kind func(byte) bool) int {
	for i, c := range b {
		if !kind(c) && strings.IndexByte(others, c) < 0 {
			return i
		}
	}
	return len(b)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }
