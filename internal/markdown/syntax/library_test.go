package syntax

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestExamplesAreReadAsTheLibraryDoes(t *testing.T) {
	for _, e := range examples(t) {
		if s := differ([]byte(e.Markdown)); s != "" {
			t.Errorf("example %d: %q\n%s", e.Example, e.Markdown, s)
		}
	}
}

// All pages of this project and of the modules that it needs are read as the library reads them.
func TestPagesAreReadAsTheLibraryDoes(t *testing.T) {
	read := 0
	look := func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".md") {
			return nil // what cannot be read is not ours to tell
		}
		source, err := os.ReadFile(path)
		if err != nil || len(source) > 512<<10 {
			return nil
		}
		read++
		if s := differ(source); s != "" {
			t.Errorf("%s\n%s", path, s)
		}
		return nil
	}
	for _, dir := range folders(t, "all") {
		if err := filepath.WalkDir(dir, look); err != nil {
			t.Fatal(err)
		}
	}
	if read < 100 {
		t.Errorf("only %d pages", read)
	}
	t.Log(read, "pages")
}

// pieces are what texts are put together from. Left out is what the library reads otherwise than the
// standard: TestWhereTheLibraryIsNotTheStandard says what.
var pieces = map[string][]string{
	"github": {"|", "\\|", "a", "b c", "`", "``", "\n", "\n", "\n\n", "---", ":--", "--:", "|---|---|\n", "| a | b |\n", "~", "~~", "[^1]", "\n[^1]: a ", "[^b]", "\n[^b]: a ",
		"!", "[", "](x)", "- ", "- [ ] ", "- [x] ", "> ", "    ", "  ", "http://", "https://a.bc", "www.a.b", "ftp://x.y", ".", "com", ":80", "/p(q)", ")", "(", "&amp;", ";",
		"?q=1", "#f", "me@x.org", "@", "_", "*", "**", "é", "<b>", "# ", "1. ", ",", "-"},
	"blocks": {"a", "b", "\n", "\n", "\n", "\n\n", "- ", "* ", "+ ", "1. ", "2. ", "1) ", "> ", ">", "# ", "## ", "#", "===", "---", "```", "````", "~~~", " ", "  ", "   ",
		"    ", "     ", "***", "* * *", "\n  ", "\n    ", "go", "\r\n"},
	"marks": {"*", "*", "**", "_", "_", "__", "***", "a", "b", " ", ".", "~", "~~", "é", "\u00a0", "\"", "\\*", "\\`", "`", "\n", "[", "](u)", "€", "  \n"},
	"links": {"[", "]", "(", ")", "![", "<", ">", "a", "b", "\"", "'", "\\]", " ", "\n", "[a]", "[b]", "\n\n[a]: /u 't'\n\n", "\n\n[a]: /u \"t\"\n\n", "\n\n[b]: <v w>\n\n",
		"](u)", "](<x y>)", "*", "`", "/", "&quot;", "&#65;", "[A  B]", "\n\n[a b]: /w\n\n", "> "},
	"html": {"<", ">", "</", "/>", "a", "div", "script ", "pre ", " ", "\n", "\n\n", "<!--", "-->", "<?x", " ?>", "<![CDATA[", "]]>", "<!A", "=", "\"", "'", "b", "> ", "- ", "`",
		"*", "-", "<b>", "<div>", "</div>", "  "},
}

// overlooked: a list mark with nothing behind it, or one letter behind a fence at the end.
var overlooked = regexp.MustCompile("(?m)(?:^|[ >])(?:[-+*]|[0-9]+[.)]) *\r?$|(?:```|~~~) *[^ \n] *\\z")

// openItem: an item ends with a fence that is not closed, or with HTML, to which empty lines belong.
func openItem(source []byte) bool {
	root := Read(source, GitHub)
	for n := root; n != nil; n = n.After(root, true) {
		if n.Kind == Item && n.Last != nil && (n.Last.Kind == HTML || n.Last.Kind == Fence && !n.Last.Done) {
			return true
		}
	}
	return false
}

// Texts that are put together at random are read as the library reads them.
func TestRandomTextsAreReadAsTheLibraryDoes(t *testing.T) {
	for name, pieces := range pieces {
		r := rand.New(rand.NewPCG(1, 2))
		for range 1500 {
			var b strings.Builder
			for range 1 + r.IntN(14) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			if overlooked.MatchString(b.String()) || openItem([]byte(b.String())) {
				continue
			}
			if s := differ([]byte(b.String())); s != "" {
				t.Errorf("%s: %q\n%s", name, b.String(), s)
			}
		}
	}
}

// What is left out above, because the library reads it otherwise than CommonMark's standard and its own
// reader do.
func TestWhereTheLibraryIsNotTheStandard(t *testing.T) {
	for _, c := range []struct{ why, source, want string }{
		{"an empty item may hold what is indented below it", "-\n  * a\n", "<ul>\n<li>\n<ul>\n<li>a</li>\n</ul>\n</li>\n</ul>\n"},
		{"empty lines in code that is not closed belong to it", "- ~~~\n\n\n- a\n", "<ul>\n<li>\n<pre><code>\n\n</code></pre>\n</li>\n<li>a</li>\n</ul>\n"},
		{"empty lines in HTML that is not closed belong to it", "- <!--\n\n- a\n", "<ul>\n<li>\n<!--\n\n</li>\n<li>a</li>\n</ul>\n"},
		{"tabs in boxes reach to columns of the page", "> \t- a\n", "<blockquote>\n<ul>\n<li>a</li>\n</ul>\n</blockquote>\n"},
		{"an escaped backslash escapes nothing", "a\\\\\\\nb\n", "<p>a\\<br />\nb</p>\n"},
		{"parentheses of an address are balanced", "[a]: (\n\n[a]\n", "<p>[a]: (</p>\n<p>[a]</p>\n"},
		{"a title that is none is no title", "[a]: b\n'c' d\n\n[a]\n", "<p>'c' d</p>\n<p><a href=\"b\">a</a></p>\n"},
		{"an instruction ends with two marks of its own", "a <?>\n", "<p>a &lt;?&gt;</p>\n"},
		{"a tag that ends itself holds nothing", "a\n<script/>\n", "<p>a\n<script/></p>\n"},
		{"one letter behind a fence is a language", "```c", "<pre><code class=\"language-c\"></code></pre>\n"},
	} {
		if got := page([]byte(c.source)); got != c.want {
			t.Errorf("%s: %q is %q, not %q", c.why, c.source, got, c.want)
		}
		if differ([]byte(c.source)) == "" {
			t.Errorf("%s: the library knows it too, %q need not be left out", c.why, c.source)
		}
	}
}

// Where the library is not GitHub.
func TestWhereTheLibraryIsNotGitHub(t *testing.T) {
	for source, want := range map[string]string{
		"- [x](y)":                        "Link", // and no box
		"- [x] y":                         "Box",
		"| a |\n|---|---|\n| b | c |\n":   "", // a row whose cells are too few begins no table
		"| a |\n|---|\n===\n":             "Table Row Row",
		"> a\n-- \n":                      "", // which underlines, where something stands above it
		"a\thttp://b.cd":                  "Address",
		"x\n| a | b |\n|---|---|\n":       "Table Row",
		"[^1]: nobody refers to it\n":     "",
		"x[^1] y[^1]\n\n[^1]: *z*\n":      "NoteRef NoteRef Note",
		"www.a.b?q=$1 www.a.b, me@a.org.": "Address Address Address",
	} {
		var got []string
		root := Read([]byte(source), GitHub)
		for n := root; n != nil; n = n.After(root, true) {
			switch n.Kind {
			case Link, Address, Table, Row, Box, Note, NoteRef:
				got = append(got, n.Kind.String())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q has %q, not %q", source, got, want)
		}
	}
}
