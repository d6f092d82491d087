package fetch

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// read sets the text of the page from a response body.
func (p *Page) read(body []byte, contentType string) error {
	switch {
	case p.Type == "text/html" || p.Type == "application/xhtml+xml":
		return p.readHTML(decodeText(body, contentType))
	case isTextual(p.Type) && bytes.IndexByte(body, 0) < 0:
		if p.Text = string(body); !utf8.Valid(body) { // valid UTF-8 is UTF-8, whatever the server declares
			p.Text = decodeText(body, contentType)
		}
		return nil
	}
	return fmt.Errorf("%s is %s of %d bytes, which is not text and is not shown. Where it is needed, download it with bash", p.URL, p.Type, len(body))
}

// decodeText converts a body to UTF-8: by its byte order mark, the server's header, the page's own declaration, or
// else as UTF-8 if it is valid and as windows-1252 if not.
func decodeText(body []byte, contentType string) string {
	encoding, name, certain := charset.DetermineEncoding(body, contentType)
	if name != "utf-8" && (certain || !utf8.Valid(body)) {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(body), "\uFEFF"), "\uFFFD")
}

func isTextual(mediaType string) bool {
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml") {
		return true
	}
	switch mediaType {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-yaml", "application/yaml", "application/toml", "application/x-sh", "application/x-ndjson":
		return true
	}
	return false
}

// readHTML converts the main part of an HTML page to Markdown. It refuses pages whose elements nest too deep.
func (p *Page) readHTML(text string) error {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil { // the parser limits the depth to 512
		return fmt.Errorf("%s is not a page for people: %w", p.URL, err)
	}
	if title := findElement(root, atom.Title); title != nil && title.FirstChild != nil {
		p.Title = strings.Join(strings.Fields(title.FirstChild.Data), " ")
	}
	base := p.URL
	if at, err := url.Parse(p.URL); err == nil {
		if to, err := url.Parse(strings.TrimSpace(attributeOf(findElement(root, atom.Base), "href"))); err == nil {
			base = at.ResolveReference(to).String()
		}
	}
	cleanTree(root, 0)
	if p.Text, err = convertToMarkdown(mainPart(root), base); err != nil {
		return fmt.Errorf("%s could not be converted to Markdown: %w", p.URL, err)
	}
	return nil
}

// mainPart returns the main or article element if it has over a third of the words, or else the whole page.
func mainPart(root *html.Node) *html.Node {
	for _, tag := range []atom.Atom{atom.Main, atom.Article} {
		if found := findElement(root, tag); found != nil && countWords(found) > countWords(root)/3 {
			return found
		}
	}
	return root
}

func findElement(root *html.Node, tag atom.Atom) *html.Node {
	for n := range root.Descendants() {
		if n.DataAtom == tag {
			return n
		}
	}
	return nil
}

func countWords(root *html.Node) (count int) {
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			count += len(strings.Fields(n.Data))
		}
	}
	return count
}

func attributeOf(n *html.Node, key string) string {
	if n != nil {
		for _, a := range n.Attr {
			if a.Key == key {
				return a.Val
			}
		}
	}
	return ""
}
