package markdown

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"

	"ramet/internal/base/text"
)

// Heading is a heading of a page.
type Heading struct {
	Level int
	Text  string // as it is read
	Slug  string // what a link names it by
	Line  int
	Empty bool // there is nothing in it, not even an image
}

// Headings returns the headings in their order, those in quotes and lists included.
func (p *Page) Headings() []Heading {
	var out []Heading
	seen := map[string]int{}
	p.walk(func(n ast.Node) bool {
		h, ok := n.(*ast.Heading)
		if !ok {
			return true
		}
		var all strings.Builder
		p.plain(&all, h)
		slug := Slug(all.String()) // with the space before an image at the end
		base := slug
		if n := seen[base]; n > 0 {
			slug = fmt.Sprintf("%s-%d", base, n)
		}
		seen[base]++
		out = append(out, Heading{Level: h.Level, Text: strings.TrimSpace(all.String()), Slug: slug, Line: p.LineOf(h), Empty: !h.HasChildren()})
		return false
	})
	return out
}

// Slug returns the name that GitHub gives to a heading, repetitions aside.
func Slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Pc):
			b.WriteRune(r)
		}
	}
	return b.String()
}

var anchor = text.Regexp(`(?i)\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// Anchors returns what links can name in the page: headings, and the ids of HTML.
func (p *Page) Anchors() map[string]bool {
	out := map[string]bool{}
	for _, h := range p.Headings() {
		out[h.Slug] = true
	}
	for _, piece := range p.HTML() {
		for _, tag := range piece.Tags() {
			for _, m := range anchor().FindAllStringSubmatch(tag.Text, -1) {
				out[m[1]+m[2]+m[3]] = true
			}
		}
	}
	delete(out, "")
	return out
}

// Plain returns the text below a node as it is read: without marks, and without images.
func (p *Page) Plain(n ast.Node) string {
	var b strings.Builder
	p.plain(&b, n)
	return strings.TrimSpace(b.String())
}

func (p *Page) plain(b *strings.Builder, n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			value := c.Segment.Value(p.Source)
			if !c.IsRaw() {
				value = []byte(text.UnescapeMarkdown(string(value)))
			}
			b.Write(value)
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.AutoLink:
			b.Write(c.Label(p.Source))
		case *ast.Image, *ast.RawHTML:
		default:
			p.plain(b, c)
		}
	}
}

// walk goes through the page from top to bottom while visit says so.
func (p *Page) walk(visit func(ast.Node) (inside bool)) {
	ast.Walk(p.Root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && !visit(n) {
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
}
