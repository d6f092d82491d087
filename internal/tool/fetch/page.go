package fetch

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"ramet/internal/tool/fetch/charset"
	"ramet/internal/tool/fetch/markup"
	"ramet/internal/tool/fetch/prose"
)

// read makes text of what came.
func (p *Page) read(body []byte, contentType string) error {
	switch {
	case p.Type == "text/html" || p.Type == "application/xhtml+xml":
		return p.markdown(charset.Text(body, contentType))
	case textual(p.Type) && bytes.IndexByte(body, 0) < 0:
		if utf8.Valid(body) { // whatever it is said to be
			p.Text = string(body)
		} else {
			p.Text = charset.Text(body, contentType)
		}
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

// markdown converts a page. What is around it on every page of a site is left out.
func (p *Page) markdown(text string) error {
	page, err := markup.Read(text)
	if err != nil {
		return fmt.Errorf("%s is no page for people: %w (over %d)", p.URL, err, markup.Deepest)
	}
	p.Title = strings.Join(strings.Fields(page.Title), " ")
	base, err := url.Parse(p.URL)
	if err != nil {
		base = nil
	}
	if to, err := url.Parse(strings.TrimSpace(page.Base)); err == nil && base != nil {
		base = base.ResolveReference(to)
	}
	p.Text = prose.Write(body(page.Root), base)
	return nil
}

// body is the part of a page that is its text: what says so, where it has a third of all words.
func body(root *markup.Node) *markup.Node {
	for _, name := range []string{"main", "article"} {
		for n := root; n != nil; n = n.After(root, true) {
			if n.Name == name {
				if words(n) > words(root)/3 {
					return n
				}
				break
			}
		}
	}
	return root
}

func words(root *markup.Node) (count int) {
	for n := root; n != nil; n = n.After(root, true) {
		if n.Name == "" {
			count += len(strings.Fields(n.Text))
		}
	}
	return count
}
