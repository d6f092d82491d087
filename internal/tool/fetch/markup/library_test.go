package markup

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	_ "ramet/internal/fixedseed"
	"ramet/internal/tool/fetch/fetchtest"
)

// ours is a tree as text: elements and what they hold. Space is left out, and marks of which nothing is shown.
func ours(b *bytes.Buffer, n *Node) {
	if n.Name == "" {
		b.WriteString(bare(n.Text))
		return
	}
	if leftOut[n.Name] {
		return
	}
	opened(b, n.Name, func(key string) (string, bool) { return n.Get(key) }, func() {
		for c := n.First; c != nil; c = c.Next {
			ours(b, c)
		}
	})
}

// theirs is the library's tree as the same text.
func theirs(b *bytes.Buffer, n *html.Node) {
	name := lower(n.Data)
	inner := func() {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			theirs(b, c)
		}
	}
	switch {
	case n.Type == html.TextNode:
		b.WriteString(bare(n.Data))
	case n.Type == html.DocumentNode:
		inner()
	case n.Type != html.ElementNode || leftOut[name]:
	case n.Namespace == "" && (name == "xmp" || name == "plaintext"):
		opened(b, "pre", func(string) (string, bool) { return "", false }, inner)
	default:
		opened(b, name, func(key string) (string, bool) {
			for _, a := range n.Attr {
				if a.Key == key {
					return a.Val, true
				}
			}
			return "", false
		}, inner)
	}
}

// leftOut is what is not in our tree, or says nothing: see Skipped in package prose for what is not written.
var leftOut = map[string]bool{"head": true, "title": true, "script": true, "style": true, "noscript": true, "iframe": true, "noembed": true, "textarea": true, "meta": true, "link": true,
	"base": true, "basefont": true, "bgsound": true, "frameset": true, "frame": true, "col": true, "colgroup": true, "input": true, "param": true, "source": true, "track": true,
	"template": true, "form": true}

// opened writes an element, unless it is a format without content: how many of those stand where is of no account.
func opened(b *bytes.Buffer, name string, get func(string) (string, bool), inner func()) {
	at := b.Len()
	b.WriteString("\n<" + name)
	for _, key := range []string{"href", "src", "alt", "class", "hidden", "start", "colspan"} {
		if value, ok := get(key); ok && name != "html" {
			b.WriteString(" " + key + "=" + bare(value))
		}
	}
	b.WriteString(">")
	begin := b.Len()
	inner()
	if b.Len() == begin && traitOf(name)&(format|implied) != 0 {
		b.Truncate(at)
		return
	}
	b.WriteString("</" + name + ">")
}

func bare(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < 0x80 && space(byte(r)) }), "")
}

// differ tells where a text is read in two ways.
func differ(t interface{ Fatalf(string, ...any) }, text string) string {
	root, err := html.Parse(strings.NewReader(text))
	mine, failed := Read(text)
	if err != nil || failed != nil {
		if (err == nil) != (failed == nil) {
			t.Fatalf("they: %v; we: %v", err, failed)
		}
		return ""
	}
	var a, b bytes.Buffer
	ours(&a, mine.Root)
	theirs(&b, root)
	left, right := strings.Split(a.String(), "\n"), strings.Split(b.String(), "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			return "ours:\n" + strings.Join(left[max(0, i-5):min(i+3, len(left))], "\n") + "\ntheirs:\n" + strings.Join(right[max(0, i-5):min(i+3, len(right))], "\n")
		}
	}
	if len(left) != len(right) {
		return "one is longer: " + a.String() + "\n and " + b.String()
	}
	return ""
}

// Pages of this machine are read as the library reads them; where they do not say which HTML they are, as if they said it.
func TestPagesAreReadAsTheLibraryDoes(t *testing.T) {
	fetchtest.Pages(t, 2<<20, func(path, text string) {
		if s := differ(t, "<!doctype html>"+text); s != "" {
			t.Errorf("%s\n%s", path, s)
		}
	})
}

func TestTextsAreReadAsTheLibraryDoes(t *testing.T) {
	for name, pieces := range pieces {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := "<!doctype html><body>" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "text"), "")
			if deepMarks(text) {
				t.Skip("the library keeps a format open that the standard closes, where over three cross the end of another")
			}
			if s := differ(t, text); s != "" {
				t.Fatalf("%q\n%s", text, s)
			}
		}))
	}
}

// pieces are what texts are put together from.
var pieces = map[string][]string{
	"blocks": {"<p>", "</p>", "<div>", "</div>", "<ul>", "</ul>", "<ol start=2>", "</ol>", "<li>", "</li>", "<dl>", "<dt>", "<dd>", "</dl>", "</dd>", "<h1>", "</h1>", "<h2>", "</h3>",
		"<blockquote>", "</blockquote>", "<pre>", "\n", "</pre>", "<hr>", "<br>", "</br>", "a", "b ", " ", "<section>", "</section>", "<span>", "</span>", "<address>", "</address>", "<main>", "</main>"},
	"marks": {"<b>", "</b>", "<i>", "</i>", "<a href=1>", "<a href=2>", "</a>", "<em>", "</em>", "<code>", "</code>", "<p>", "</p>", "<div>", "</div>", "a", "b", " ", "<span>", "</span>", "<u>", "</u>", "<li>",
		"<nobr>", "</nobr>", "<font color=x>", "</font>", "<s>", "</s>", "<q>", "</q>", "<object>", "</object>"},
	"tables": {"<table>", "<table>", "</table>", "<tr>", "<tr>", "</tr>", "<td>", "<td>", "</td>", "<tbody>", "</tbody>", "<thead>", "</thead>", "<tfoot>", "<caption>", "</caption>", "<col>",
		"<colgroup>", "</colgroup>", "a", "b", " ", "<p>", "</p>", "<b>", "</b>", "<div>", "</div>", "<li>", "<h1>", "</h1>", "<a href=1>", "</a>", "<br>", "<img src=i>", "<form>", "</form>", "<input>"},
	"heads": {"<table>", "</table>", "<tr>", "</tr>", "<td>", "<th>", "<th>", "</th>", "</td>", "<thead>", "</thead>", "a", "<p>", "<b>", "</b>", "<ul>", "<li>", "</ul>"}, // beside captions the library forgets th
	"signs": {"<", ">", "/", "=", "\"", "'", "a", "b", " ", "<a", "<p", "</p", "<!--", "-->", "--", "-", "!", "<!", "<?", "<br/", "&", "amp", ";", "&lt;", "&copy", "&#", "65", "x41", "&#0;", "&#150;", "\x00", "\r\n", "\r", "\n",
		" href=", "class", "é", "<title>", "</title>", "<script>", "</script>", "<!--<script>", "<style>", "</style >", "<xmp>", "</xmp>", "<img alt=", "&notit;", "&not", "<P", "<DIV CLASS=A>", "<textarea>", "</textarea>"},
	"drawings": {"<svg>", "</svg>", "<svg/>", "<g>", "</g>", "<path/>", "<title>", "</title>", "<style>", "</style>", "<foreignObject>", "</foreignObject>", "<div>", "</div>", "<p>", "</p>", "a", "b", "<math>",
		"</math>", "<mi>", "</mi>", "<mrow>", "</mrow>", "<![CDATA[x<y]]>", "<a href=1>", "</a>", "<b>", "</b>", "<br>", "<table>", "<td>", "</table>", "<desc>", "</desc>"},
	"forms": {"<form>", "</form>", "<select>", "</select>", "<option>", "</option>", "<optgroup>", "<button>", "</button>", "<p>", "</p>", "a", "b", "<div>", "</div>", "<input>", "<label>", "</label>", "<fieldset>",
		"</fieldset>", "<textarea>", "</textarea>", "<template>", "</template>", "<ruby>", "<rt>", "</ruby>", "<rp>", "</rt>", "<rb>", "<rtc>", "<i>", "</i>"},
}

// deepMarks tells whether more formats are begun than may cross the end of another.
func deepMarks(text string) bool {
	begun := 0
	for s := Scan(text); ; {
		t, ok := s.Next()
		if !ok {
			return begun > 4
		}
		if t.Kind == Start && traitOf(t.Name)&format != 0 {
			begun++
		}
	}
}
