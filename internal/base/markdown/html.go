package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"

	"ramet/internal/base/text"
)

// HTML is a piece of raw HTML: a block, or what stands within a line.
type HTML struct {
	spans []Span // one for each line
	page  *Page
}

// Tag is a tag of HTML.
type Tag struct {
	Name string // in small letters
	Text string // all of it, from "<" to ">"
	Line int
}

// HTML returns the pieces of raw HTML, top to bottom.
func (p *Page) HTML() []HTML {
	var out []HTML
	p.walk(func(n ast.Node) bool {
		h := HTML{page: p}
		switch n := n.(type) {
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				s := n.Segments.At(i)
				h.spans = append(h.spans, Span{s.Start, s.Stop})
			}
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				s := n.Lines().At(i)
				h.spans = append(h.spans, Span{s.Start, s.Stop})
			}
			if n.HasClosure() {
				h.spans = append(h.spans, Span{n.ClosureLine.Start, n.ClosureLine.Stop})
			}
		}
		if len(h.spans) > 0 {
			out = append(out, h)
		}
		return true
	})
	return out
}

// text returns the lines of the piece together, and the line of the page on which a byte of that stands.
func (h HTML) text() (all string, line func(at int) int) {
	var b strings.Builder
	starts := make([]int, len(h.spans)) // of the spans, in all
	for i, s := range h.spans {
		starts[i] = b.Len()
		b.Write(h.page.Source[s.From:s.To])
	}
	return b.String(), func(at int) int {
		i := len(starts) - 1
		for starts[i] > at {
			i--
		}
		return h.page.Line(h.spans[i].From + at - starts[i])
	}
}

// comment is a comment, one of the two short forms with nothing in it, or the rest after one that is not closed.
var comment = text.Regexp(`(?s)<!--(?:-?>|.*?-->|(.*))`)

// OpenComment returns the line on which a comment begins that is not closed; 0 if there is none.
func (h HTML) OpenComment() int {
	all, line := h.text()
	for _, m := range comment().FindAllStringSubmatchIndex(all, -1) {
		if m[2] >= 0 {
			return line(m[0])
		}
	}
	return 0
}

var tagForm = text.Regexp(`(?s)</?([A-Za-z][A-Za-z0-9:-]*)(?:[^<>"']|"[^"]*"|'[^']*')*>?|<[?!][^>]*>?`)

// Tags returns the tags in it, comments aside. What only looks like one is told too.
func (h HTML) Tags() []Tag {
	all, line := h.text()
	all = comment().ReplaceAllStringFunc(all, func(c string) string { return strings.Repeat(" ", len(c)) })
	var out []Tag
	for _, m := range tagForm().FindAllStringSubmatchIndex(all, -1) {
		t := Tag{Text: all[m[0]:m[1]], Line: line(m[0])}
		if m[2] >= 0 {
			t.Name = strings.ToLower(all[m[2]:m[3]])
		} else {
			t.Name = t.Text[:2]
		}
		out = append(out, t)
	}
	return out
}
