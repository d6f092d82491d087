package prose

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"pgregory.net/rapid"

	_ "ramet/internal/fixedseed"
	"ramet/internal/markdown/syntax"
	"ramet/internal/tool/fetch/fetchtest"
	"ramet/internal/tool/fetch/markup"
)

const address = "https://example.org/a/b?c"

func ours(t *testing.T, text string) string {
	t.Helper()
	page, err := markup.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return Write(page.Root, at)
}

// theirs is what two libraries make of a page: one reads it, the other writes it.
func theirs(t *testing.T, text string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	prune(root)
	made := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := made.ConvertNode(root, converter.WithDomain(address))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// prune takes away what is not to be read.
func prune(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		as := &markup.Node{Name: c.Data}
		for _, a := range c.Attr {
			as.Attr = append(as.Attr, markup.Attr{Key: a.Key, Value: a.Val})
		}
		_, leads := as.Get("href")
		switch {
		case c.Data == "caption" && n.Data == "table" && n.Parent != nil: // it is read before the table, not behind it
			n.RemoveChild(c)
			c.Data, c.DataAtom = "p", atom.P
			n.Parent.InsertBefore(c, n)
			prune(c)
		case c.Type == html.ElementNode && Skipped(as), c.Type == html.CommentNode:
			n.RemoveChild(c)
		case c.Type == html.ElementNode && c.Data == "a" && !leads: // the library makes links to the page itself of names
			c.Data, c.DataAtom = "span", 0
			fallthrough
		default:
			prune(c)
		}
		c = next
	}
}

// seen is what a reader takes from a text.
type seen struct {
	letters                string
	links, headings, codes []string
}

func see(text string) (s seen) {
	s = seeAll(text)
	s.letters = html.UnescapeString(s.letters) // the library does not escape what looks like a reference
	return s
}

func seeAll(text string) (s seen) {
	source := []byte(text)
	var letters strings.Builder
	for n := syntax.Read(source, syntax.Tables); n != nil; {
		switch n.Kind {
		case syntax.Heading:
			s.headings = append(s.headings, fmt.Sprint(n.Level, " ", inner(source, n)))
		case syntax.Link, syntax.Image:
			s.links = append(s.links, plainAddress(string(syntax.Unescape(n.Target))))
		case syntax.Fence, syntax.Code:
			s.codes = append(s.codes, bare(lines(source, n)))
		}
		letters.WriteString(letter(source, n))
		n = n.After(nil, true)
	}
	s.letters = letters.String()
	return s
}

// plainAddress is an address without the numbers of signs: the libraries write more of them.
func plainAddress(s string) string {
	if strings.HasPrefix(s, "data:") {
		return "data:"
	}
	if plain, err := url.PathUnescape(s); err == nil {
		s = plain
	}
	return strings.ReplaceAll(bare(s), "+", "")
}

func lines(source []byte, n *syntax.Node) string {
	var b strings.Builder
	for _, l := range n.Lines {
		b.Write(source[l.From:l.To])
		b.WriteByte('\n')
	}
	return b.String()
}

func inner(source []byte, n *syntax.Node) string {
	var b strings.Builder
	for c := n.After(n, true); c != nil; c = c.After(n, true) {
		b.WriteString(letter(source, c))
	}
	return b.String()
}

func letter(source []byte, n *syntax.Node) string {
	switch {
	case n.Kind == syntax.Fence || n.Kind == syntax.Code:
		return bare(lines(source, n))
	case n.Kind == syntax.Text && n.Done:
		return bare(string(source[n.From:n.To]))
	case n.Kind == syntax.Text:
		return bare(string(syntax.Unescape(source[n.From:n.To])))
	}
	return ""
}

// bare is a text without space, and without the tildes that some take for marks even where one stands alone.
func bare(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), ""), "~", "")
}

// differ tells where two texts are not seen as the same.
func differ(a, b seen) string {
	if a.letters != b.letters {
		at := 0
		for at < min(len(a.letters), len(b.letters)) && a.letters[at] == b.letters[at] {
			at++
		}
		return fmt.Sprintf("letters:\n%.80q\n%.80q", a.letters[max(0, at-30):], b.letters[max(0, at-30):])
	}
	for _, l := range []struct {
		name string
		a, b []string
	}{{"links", a.links, b.links}, {"headings", a.headings, b.headings}, {"codes", a.codes, b.codes}} {
		for i := range max(len(l.a), len(l.b)) {
			if i >= len(l.a) || i >= len(l.b) || l.a[i] != l.b[i] {
				return fmt.Sprintf("%s:\n%.300q\n%.300q", l.name, l.a[min(i, len(l.a)):min(i+3, len(l.a))], l.b[min(i, len(l.b)):min(i+3, len(l.b))])
			}
		}
	}
	return ""
}

// onPurpose are pages of which something else is seen.
var onPurpose = map[string]string{
	"api/net.html":                  "code with a bar in a cell: the library cuts it there",
	"tutorial/libxslttutorial.html": "pictures in code: their words are numbers of notes, which the library leaves out",
}

// Pages of this machine say to a reader what the libraries make them say.
func TestPagesSayWhatTheLibrariesMakeThemSay(t *testing.T) {
	fetchtest.Pages(t, 256<<10, func(path, text string) {
		if onPurpose[filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)] != "" {
			return
		}
		if s := differ(see(ours(t, text)), see(theirs(t, text))); s != "" {
			t.Errorf("%s\n%s", path, s)
		}
	})
}

// And all their letters are read in what is written.
func TestPagesAreReadAsTheyWereMeant(t *testing.T) {
	fetchtest.Pages(t, 2<<20, func(path, text string) {
		page, err := markup.Read(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		if s := differ(seen{letters: shown(page.Root)}, seen{letters: seeAll(Write(page.Root, nil)).letters}); s != "" {
			t.Errorf("%s\n%s", path, s)
		}
	})
}

// Documents that are put together at random say what the libraries make them say.
func TestDocumentsSayWhatTheLibrariesMakeThemSay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := "<!doctype html><title>t</title><body>" + document(r, 3, false)
		if s := differ(see(ours(t, text)), see(theirs(t, text))); s != "" {
			r.Fatalf("%s\n%s\nours:\n%s\ntheirs:\n%s", text, s, ours(t, text), theirs(t, text))
		}
	})
}

// document is a piece of a page, with so many levels. Code in quotes is left out: the library forgets the quote
// behind its first line.
func document(r *rapid.T, levels int, quoted bool) string {
	var b strings.Builder
	for range rapid.IntRange(1, 4).Draw(r, "blocks") {
		kind := rapid.SampledFrom([]string{"p", "p", "h2", "pre", "ul", "ol start=7", "blockquote", "div", "table", "hr", "dl"}).Draw(r, "block")
		name, _, _ := strings.Cut(kind, " ")
		if name == "pre" && quoted {
			continue
		}
		b.WriteString("<" + kind + ">")
		switch name {
		case "p", "h2":
			b.WriteString(phrase(r, 2))
		case "pre":
			b.WriteString("<code class=language-go>if a &lt; b {\n\n\t" + rapid.SampledFrom([]string{"`x`", "*y*", "```", "# z", "<b>bold</b>"}).Draw(r, "code") + "\n}</code>")
		case "ul", "ol":
			for range rapid.IntRange(1, 3).Draw(r, "items") {
				b.WriteString("<li>" + phrase(r, 2))
				if levels > 0 && rapid.Bool().Draw(r, "nested") {
					b.WriteString(document(r, levels-1, quoted))
				}
			}
		case "table":
			for range rapid.IntRange(1, 3).Draw(r, "rows") {
				b.WriteString("<tr><th>" + phrase(r, 1) + "<td>" + phrase(r, 1))
			}
		case "dl":
			b.WriteString("<dt>" + phrase(r, 1) + "<dd>" + phrase(r, 1))
		case "blockquote", "div":
			b.WriteString(phrase(r, 1))
			if levels > 0 {
				b.WriteString(document(r, levels-1, quoted || name == "blockquote"))
			}
		}
		if name != "hr" {
			b.WriteString("</" + name + ">")
		}
	}
	return b.String()
}

// phrase is text with marks.
func phrase(r *rapid.T, levels int) string {
	var b strings.Builder
	for range rapid.IntRange(1, 4).Draw(r, "words") {
		word := rapid.SampledFrom([]string{"one", "two", "3", "snake_case", "a*b", "[x]", "café", "x < y"}).Draw(r, "word")
		kind := rapid.SampledFrom([]string{"", "", "b", "em", "code", "a href='/x?y=1&amp;z'", "a href=#f", "span", "img src=i.png alt"}).Draw(r, "mark")
		name, _, _ := strings.Cut(kind, " ")
		switch {
		case name == "img":
			b.WriteString("<img src=i.png alt=word>")
		case kind == "":
			b.WriteString(html.EscapeString(word))
		case levels > 0 && name != "code" && name != "a":
			b.WriteString("<" + kind + ">" + phrase(r, levels-1) + "</" + name + ">")
		default:
			b.WriteString("<" + kind + ">" + html.EscapeString(word) + "</" + name + ">")
		}
		b.WriteString(" ")
	}
	return b.String()
}
