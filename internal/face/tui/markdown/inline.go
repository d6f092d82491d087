package markdown

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"

	"ramet/internal/base/text"
)

// inline returns the words of a block with their styles. A line feed in them is a line break.
func (p *page) inline(n ast.Node, base Style) string {
	r := reader{src: p.src, theme: p.theme}
	r.children(n, base)
	r.switchTo("")
	return strings.TrimSpace(r.out.String())
}

type reader struct {
	src   []byte
	theme Theme
	out   strings.Builder
	plain strings.Builder // the same words without styles
	now   Style
}

func (r *reader) switchTo(s Style) {
	if s == r.now {
		return
	}
	if r.now != "" {
		r.out.WriteString("\x1b[m")
	}
	if s != "" {
		r.out.WriteString("\x1b[" + string(s) + "m")
	}
	r.now = s
}

func (r *reader) put(s string, style Style) {
	if s = detach(s); s == "" {
		return
	}
	r.switchTo(style)
	r.out.WriteString(s)
	r.plain.WriteString(s)
}

// add puts a text of the source, which is safe again now that character references are resolved.
func (r *reader) add(s string, style Style) { r.put(oneLine.Replace(text.Safe(s)), style) }

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

func (r *reader) children(n ast.Node, style Style) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.node(c, style)
	}
}

// marked puts the children of a node in a style, and between the characters of Markdown where the theme has none.
func (r *reader) marked(n ast.Node, sign string, own, style Style) {
	if own != "" {
		sign = ""
	}
	r.put(sign, style)
	r.children(n, join(style, own))
	r.put(sign, style)
}

func (r *reader) node(n ast.Node, style Style) {
	switch n := n.(type) {
	case *ast.Text:
		value := string(n.Segment.Value(r.src))
		if !n.IsRaw() {
			value = text.UnescapeMarkdown(value)
		}
		r.add(value, style)
		switch {
		case n.HardLineBreak():
			r.put("\n", style)
		case n.SoftLineBreak():
			r.put(" ", style)
		}
	case *ast.String:
		r.add(string(n.Value), style)
	case *ast.CodeSpan:
		r.marked(n, "`", r.theme.Code, style)
	case *ast.Emphasis:
		if n.Level > 1 {
			r.marked(n, "**", r.theme.Strong, style)
		} else {
			r.marked(n, "*", r.theme.Emphasis, style)
		}
	case *tables.Strikethrough:
		r.marked(n, "~~", r.theme.Strike, style)
	case *tables.TaskCheckBox: // the marker of the item
	case *ast.Link:
		r.link(n, string(n.Destination), style)
	case *ast.Image:
		r.put("image: ", join(style, r.theme.Address))
		r.link(n, string(n.Destination), style)
	case *ast.AutoLink:
		r.add(string(n.Label(r.src)), join(style, r.theme.Link))
	default:
		r.children(n, style)
	}
}

// link puts the text and, where it differs, the address: a text must not hide where its link leads.
func (r *reader) link(n ast.Node, to string, style Style) {
	before := r.plain.Len()
	r.children(n, join(style, r.theme.Link))
	shown := r.plain.String()[before:]
	to = text.UnescapeMarkdown(to)
	if to == "" || shown == to || "mailto:"+shown == to {
		return
	}
	if shown != "" {
		r.put(" ", style)
	}
	r.add("("+to+")", join(style, r.theme.Address))
}
