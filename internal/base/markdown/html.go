package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"

	"ramet/internal/base/text"
)

// HTML is a piece of raw HTML: a block, or what stands within a line.
type HTML struct {
	Spans []Span // one for each line
	Block bool

	page *Page
}

// Comment is a comment of HTML.
type Comment struct {
	Span
	Text     string // what is between its ends
	OneLine  bool
	Unclosed bool
}

// Tag is a tag of HTML.
type Tag struct {
	Name string // in small letters
	Text string // all of it, from "<" to ">"
	Line int
}

// HTML returns the pieces of raw HTML, top to bottom but for rows of tables, where comments behind a row come first.
func (p *Page) HTML() []HTML {
	var out []HTML
	p.walk(func(n ast.Node) bool {
		h := HTML{page: p}
		switch n := n.(type) {
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				s := n.Segments.At(i)
				h.Spans = append(h.Spans, Span{s.Start, s.Stop})
			}
		case *ast.HTMLBlock:
			h.Block = true
			for i := range n.Lines().Len() {
				s := n.Lines().At(i)
				h.Spans = append(h.Spans, Span{s.Start, s.Stop})
			}
			if n.HasClosure() {
				h.Spans = append(h.Spans, Span{n.ClosureLine.Start, n.ClosureLine.Stop})
			}
		case *extension.TableRow:
			if at, ok := p.behindRow(n); ok {
				h.Spans = append(h.Spans, at)
			}
		default:
			return true
		}
		if len(h.Spans) > 0 {
			out = append(out, h)
		}
		return true
	})
	return out
}

var comments = text.Regexp(`(?:[ \t]*<!--(?:[^-]|-[^-]|--[^>])*-->)+[ \t]*$`)

// behindRow finds comments behind the last bar of a row. They are a cell too many, which
// the parser drops.
func (p *Page) behindRow(row *extension.TableRow) (Span, bool) {
	for c := row.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Lines() == nil || c.Lines().Len() == 0 {
			continue
		}
		from := c.Lines().At(0).Start
		line := p.Line(from)
		text := p.Text(line)
		m := comments().FindIndex(text)
		if m == nil || !bytes.HasSuffix(text[:m[0]], []byte("|")) || bytes.HasSuffix(text[:m[0]], []byte(`\|`)) {
			return Span{}, false
		}
		at := Span{p.starts[line-1] + m[0], p.starts[line-1] + m[1]}
		for ; c != nil; c = c.NextSibling() {
			if l := c.Lines(); l != nil && l.Len() > 0 && l.At(0).Stop > at.From {
				return Span{}, false // it is a cell of the table
			}
		}
		return at, true
	}
	return Span{}, false
}

// pieces splits the HTML into comments and the rest.
func (h HTML) pieces() (comments []Comment, rest []Span) {
	src := h.page.Source
	open, text := -1, strings.Builder{}
	oneLine := true
	for _, s := range h.Spans {
		at := s.From
		for at < s.To {
			line := src[at:s.To]
			if open < 0 {
				i := bytes.Index(line, []byte("<!--"))
				if i < 0 {
					rest = append(rest, Span{at, s.To})
					break
				}
				if i > 0 {
					rest = append(rest, Span{at, at + i})
				}
				open, oneLine = at+i, true
				text.Reset()
				at = open + len("<!--")
				// Two short forms are comments with nothing in them.
				for _, short := range []string{">", "->"} {
					if bytes.HasPrefix(src[at:s.To], []byte(short)) {
						at += len(short)
						comments = append(comments, Comment{Span: Span{open, at}, OneLine: true})
						open = -1
						break
					}
				}
				continue
			}
			i := bytes.Index(line, []byte("-->"))
			if i < 0 {
				text.Write(line)
				oneLine = false
				break
			}
			text.Write(line[:i])
			at += i + len("-->")
			comments = append(comments, Comment{Span: Span{open, at}, Text: text.String(), OneLine: oneLine})
			open = -1
		}
	}
	if open >= 0 {
		comments = append(comments, Comment{Span: Span{open, h.Spans[len(h.Spans)-1].To}, Text: text.String(), Unclosed: true})
	}
	return comments, rest
}

// Comments returns the comments in it.
func (h HTML) Comments() []Comment {
	comments, _ := h.pieces()
	return comments
}

var tagForm = text.Regexp(`(?s)</?([A-Za-z][A-Za-z0-9:-]*)(?:[^<>"']|"[^"]*"|'[^']*')*>?|<[?!][^>]*>?`)

// Tags returns the tags in it, comments aside. What only looks like one is told too.
func (h HTML) Tags() []Tag {
	_, rest := h.pieces()
	var all strings.Builder
	var places []Span // From: in the page, To: in all
	for _, s := range rest {
		places = append(places, Span{s.From, all.Len()})
		all.Write(h.page.Source[s.From:s.To])
	}
	var out []Tag
	for _, m := range tagForm().FindAllStringSubmatchIndex(all.String(), -1) {
		t := Tag{Text: all.String()[m[0]:m[1]]}
		if m[2] >= 0 {
			t.Name = strings.ToLower(all.String()[m[2]:m[3]])
		} else {
			t.Name = t.Text[:2]
		}
		for _, place := range places {
			if place.To <= m[0] {
				t.Line = h.page.Line(place.From + m[0] - place.To)
			}
		}
		out = append(out, t)
	}
	return out
}
