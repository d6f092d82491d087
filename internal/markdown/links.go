package markdown

import (
	"html"

	"ramet/internal/late"
	"ramet/internal/markdown/syntax"
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

var pointing = late.Regexp(`(?i)\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// Links are the links and images of a page, those of HTML included.
func (p *Page) Links() []Link {
	var out []Link
	p.walk(func(n *syntax.Node) bool {
		switch n.Kind {
		case syntax.Link, syntax.Image:
			l := Link{To: string(syntax.Unescape(n.Target)), Text: p.Plain(n), Image: n.Kind == syntax.Image, Line: p.LineOf(n)}
			l.Empty = l.Text == "" && (l.Image || !holdsImage(n))
			out = append(out, l)
		case syntax.Address:
			label := string(p.Source[n.From:n.To])
			out = append(out, Link{To: n.Scheme() + label, Text: label, Auto: true, Line: p.LineOf(n)})
		}
		return true
	})
	for _, piece := range p.HTML() {
		for _, tag := range piece.Tags() {
			if tag.Name != "a" && tag.Name != "img" && tag.Name != "source" {
				continue
			}
			for _, m := range pointing.Get().FindAllStringSubmatch(tag.Text, -1) {
				out = append(out, Link{To: html.UnescapeString(m[1] + m[2] + m[3]), Text: tag.Text, Image: tag.Name != "a", Line: tag.Line})
			}
		}
	}
	return out
}

// holdsImage: there is something to click on besides text. HTML may be an image.
func holdsImage(link *syntax.Node) bool {
	for n := link.First; n != nil; n = n.After(link, true) {
		if n.Kind == syntax.Image || n.Kind == syntax.RawHTML {
			return true
		}
	}
	return false
}

// Span is a piece of a page.
type Span = syntax.Span

// Prose are the pieces of text that are neither code, nor HTML, nor part of a link, with
// neighbours in one piece.
func (p *Page) Prose() []Span {
	var out []Span
	p.walk(func(n *syntax.Node) bool {
		switch n.Kind {
		case syntax.CodeSpan, syntax.Link, syntax.Image:
			return false
		case syntax.Text:
			at := n.Span
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
