package markdown

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"

	"ramet/internal/base/text"
)

// Link is something that points elsewhere.
type Link struct {
	To    string // the destination, without escapes
	Text  string // as it is read
	Image bool
	Auto  bool // an address that stands for itself
	Empty bool // nothing to click on
	Line  int
}

var pointing = text.Regexp(`(?i)\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// Links returns the links and images of a page, those of HTML included.
func (p *Page) Links() []Link {
	var out []Link
	p.walk(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Link:
			words := p.Plain(n)
			out = append(out, Link{To: text.UnescapeMarkdown(string(n.Destination)), Text: words, Line: p.LineOf(n), Empty: words == "" && !holdsImage(n)})
		case *ast.Image:
			words := p.Plain(n)
			out = append(out, Link{To: text.UnescapeMarkdown(string(n.Destination)), Text: words, Image: true, Line: p.LineOf(n), Empty: words == ""})
		case *ast.AutoLink:
			to := string(n.URL(p.Source))
			if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
				to = "mailto:" + to
			}
			out = append(out, Link{To: to, Text: string(n.Label(p.Source)), Auto: true, Line: p.LineOf(n)})
		}
		return true
	})
	for _, piece := range p.HTML() {
		for _, tag := range piece.Tags() {
			if tag.Name != "a" && tag.Name != "img" && tag.Name != "source" {
				continue
			}
			for _, m := range pointing().FindAllStringSubmatch(tag.Text, -1) {
				out = append(out, Link{To: html.UnescapeString(m[1] + m[2] + m[3]), Text: tag.Text, Image: tag.Name != "a", Line: tag.Line})
			}
		}
	}
	return out
}

func holdsImage(n ast.Node) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Image:
			return true
		case *ast.RawHTML: // which may be one
			return true
		default:
			if holdsImage(c) {
				return true
			}
		}
	}
	return false
}

// Span is a piece of a page.
type Span struct{ From, To int }

// Prose returns the pieces of text that are neither code, nor HTML, nor part of a link, with
// neighbours in one piece.
func (p *Page) Prose() []Span {
	var out []Span
	p.walk(func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.Link, *ast.Image, *ast.AutoLink:
			return false
		case *ast.Text:
			at := Span{n.Segment.Start, n.Segment.Stop}
			if last := len(out) - 1; last >= 0 && out[last].To == at.From {
				out[last].To = at.To
				return true
			}
			out = append(out, at)
		}
		return true
	})
	return out
}
