package fetch

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// read makes text of what came.
func (p *Page) read(body []byte, contentType string) error {
	switch {
	case p.Type == "text/html" || p.Type == "application/xhtml+xml":
		in, err := charset.NewReader(bytes.NewReader(body), contentType)
		if err != nil {
			in = bytes.NewReader(body)
		}
		root, err := html.Parse(in)
		if err != nil {
			return fmt.Errorf("%s is no HTML that can be read: %w", p.URL, err)
		}
		return p.markdown(root)
	case textual(p.Type) && bytes.IndexByte(body, 0) < 0:
		if in, err := charset.NewReader(bytes.NewReader(body), contentType); err == nil && !utf8.Valid(body) {
			var b bytes.Buffer
			if _, err := b.ReadFrom(in); err == nil {
				body = b.Bytes()
			}
		}
		p.Text = strings.ToValidUTF8(string(body), "\uFFFD")
		return nil
	}
	return fmt.Errorf("%s is %s of %d bytes, which is no text and is not shown. Where it is needed, download it with bash", p.URL, p.Type, len(body))
}

func textual(mediaType string) bool {
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml") {
		return true
	}
	switch mediaType {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-yaml", "application/yaml", "application/toml", "application/x-sh", "application/x-ndjson":
		return true
	}
	return false
}

// deepest is how many elements may stand in one another: more is no page for people, and
// would take a stack for each.
const deepest = 512

// markdown converts a page. What is around it on every page of a site is left out.
func (p *Page) markdown(root *html.Node) error {
	if depth(root) > deepest {
		return fmt.Errorf("%s is no page for people: its elements stand in one another over %d deep", p.URL, deepest)
	}
	if title := find(root, atom.Title); title != nil && title.FirstChild != nil {
		p.Title = strings.Join(strings.Fields(title.FirstChild.Data), " ")
	}
	for _, tag := range []atom.Atom{atom.Main, atom.Article} {
		if found := find(root, tag); found != nil && words(found) > words(root)/3 {
			root = found
			break
		}
	}
	prune(root)
	made := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	text, err := made.ConvertNode(root, converter.WithDomain(p.URL))
	if err != nil {
		return fmt.Errorf("%s could not be made Markdown: %w", p.URL, err)
	}
	p.Text = strings.TrimSpace(string(text))
	return nil
}

// prune takes away what is not to be read.
func prune(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.DataAtom {
		case atom.Script, atom.Style, atom.Noscript, atom.Nav, atom.Iframe, atom.Svg, atom.Form, atom.Template, atom.Button, atom.Footer:
			n.RemoveChild(c)
		default:
			if c.Type == html.CommentNode || hidden(c) {
				n.RemoveChild(c)
			} else {
				prune(c)
			}
		}
		c = next
	}
}

// hidden is what no person sees: there is no reason to show it to a model.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func find(n *html.Node, tag atom.Atom) *html.Node {
	if n.DataAtom == tag {
		return n
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := find(c, tag); found != nil {
			return found
		}
	}
	return nil
}

func words(n *html.Node) int {
	if n.DataAtom == atom.Script || n.DataAtom == atom.Style {
		return 0
	}
	count := 0
	if n.Type == html.TextNode {
		count = len(strings.Fields(n.Data))
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		count += words(c)
	}
	return count
}

// depth is counted without recursion.
func depth(root *html.Node) int {
	deepest, now := 0, 0
	for n := root; n != nil; {
		deepest = max(deepest, now)
		switch {
		case n.FirstChild != nil:
			n, now = n.FirstChild, now+1
			continue
		}
		for n != root && n.NextSibling == nil {
			n, now = n.Parent, now-1
		}
		if n == root {
			break
		}
		n = n.NextSibling
	}
	return deepest
}
