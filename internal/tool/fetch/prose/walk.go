package prose

import (
	"strings"

	"ramet/internal/tool/fetch/markup"
)

// node writes a text, or an element with what is in it. The reader of pages bounds how deep they are.
func (w *writer) node(n *markup.Node) {
	if n.Name == "" {
		w.text(n.Text)
		return
	}
	if Skipped(n) {
		return
	}
	switch n.Name {
	case "b", "strong":
		w.marked("**", "**", func() { w.children(n) })
	case "i", "em":
		w.marked("*", "*", func() { w.children(n) })
	case "del", "s", "strike":
		w.marked("~~", "~~", func() { w.children(n) })
	case "a":
		w.link(n)
	case "img":
		w.picture(n)
	case "br":
		w.breakLine()
	case "code", "kbd", "samp", "tt":
		w.code(n)
	case "td", "th", "option":
		w.space = true
		w.children(n)
		w.space = true
	default:
		if !block(n.Name) {
			w.children(n)
			return
		}
		w.flush()
		w.blocks(n)
		w.flush()
	}
}

func (w *writer) children(n *markup.Node) {
	for c := n.First; c != nil; c = c.Next {
		w.node(c)
	}
}

// blocks writes an element that is a block. In one line there are none.
func (w *writer) blocks(n *markup.Node) {
	if w.one > 0 {
		if n.Name == "pre" {
			w.code(n)
			return
		}
		w.children(n)
		return
	}
	switch n.Name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.one++
		w.children(n)
		w.one--
		if text := w.take(); text != "" {
			w.block(strings.Repeat("#", int(n.Name[1]-'0')) + " " + closing(text))
		}
	case "hr":
		w.block("* * *")
	case "pre", "listing":
		w.pre(n)
	case "blockquote":
		w.enter("> ", "> ")
		w.children(n)
		w.flush()
		w.leave()
	case "ul", "ol", "menu", "dir":
		w.list(n)
	case "table":
		w.table(n)
	default:
		w.children(n)
	}
}

// closing escapes what would be left out at the end of a heading.
func closing(text string) string {
	if rest := strings.TrimRight(text, "#"); rest != text && (rest == "" || strings.HasSuffix(rest, " ")) {
		return text[:len(text)-1] + `\#`
	}
	return text
}

// Skipped are elements that are not read: what people do not see, and what is no text of the page.
func Skipped(n *markup.Node) bool {
	switch n.Name {
	case "nav", "svg", "form", "template", "button", "footer":
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if a.Value == "true" {
				return true
			}
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Value), " ", "")
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

// block are the elements that stand on lines of their own.
func block(name string) bool {
	switch name {
	case "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer",
		"form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li", "listing", "main", "menu", "nav", "noframes", "ol", "optgroup", "p", "pre", "search", "section",
		"select", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul", "audio", "video", "canvas", "output":
		return true
	}
	return false
}
