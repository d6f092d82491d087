package prose

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ramet/internal/tool/fetch/markup"
)

// shown are the letters of a page that are to be read.
func shown(n *markup.Node) string {
	var b strings.Builder
	var look func(n *markup.Node)
	look = func(n *markup.Node) {
		if Skipped(n) {
			return
		}
		if n.Name == "img" {
			if src, _ := n.Get("src"); strings.TrimSpace(src) != "" {
				alt, _ := n.Get("alt")
				b.WriteString(alt)
			}
		}
		b.WriteString(n.Text)
		for c := n.First; c != nil; c = c.Next {
			look(c)
		}
	}
	look(n)
	return bare(b.String())
}

// Whatever a page is made of, its letters are read in the Markdown that is written, and nothing else.
func TestWhatIsWrittenIsReadAsItWasMeant(t *testing.T) {
	for name, pieces := range pieces {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "text"), "")
			page, err := markup.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			written := Write(page.Root, nil)
			if want, got := shown(page.Root), seeAll(written).letters; want != got {
				t.Fatalf("%q is written as %q, and read as %q", text, written, got)
			}
		}))
	}
}

var pieces = map[string][]string{
	"blocks": {"a", "b", " ", "<p>", "</p>", "<div>", "</div>", "<ul>", "</ul>", "<li>", "<ol>", "</ol>", "<h2>", "</h2>", "<blockquote>", "</blockquote>", "<pre>", "</pre>", "<hr>", "<br>", "1. ", "- ", "# ", "> ", "\n",
		"<dl>", "<dt>", "<dd>", "<code>", "</code>", "<table>", "<tr>", "<td>", "</table>", "<th>", "<thead>"},
	"marks": {"a", "b", " ", ".", "<b>", "</b>", "<i>", "</i>", "<a href=x>", "</a>", "<code>", "</code>", "<del>", "</del>", "<img src=y alt=z>", "!", "<br>", "<span>", "</span>", "<p>", "é", "&nbsp;", ","},
	"signs": {"a", "b", " ", "*", "**", "_", "__", "`", "``", "[", "]", "(", ")", "!", "&lt;", ">", "&amp;", "amp;", "#65;", "\\", "|", "-", "+", "=", "1.", "2)", "#", "<br>", "<p>", "http://a.b", "\n", ":", "\"", "'", "<h1>", "</h1>",
		"<a href=x>", "</a>", "<li>", "<td>", "<table>", "</table>", "<code>", "</code>"},
}
