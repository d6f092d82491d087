package markup

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// said is a tree in brackets.
func said(n *Node) string {
	if n.Name == "" {
		return n.Text
	}
	var b strings.Builder
	b.WriteString("(" + n.Name)
	for _, a := range n.Attr {
		fmt.Fprintf(&b, " %s=%q", a.Key, a.Value)
	}
	b.WriteString(": ")
	for c := n.First; c != nil; c = c.Next {
		b.WriteString(said(c))
	}
	return b.String() + ")"
}

func TestPagesAsTheyAre(t *testing.T) {
	for _, c := range []struct{ text, title, base, want string }{
		{"<!DOCTYPE html><HTML><HEAD><TITLE>a &amp; b</TITLE><base href=/x><title>c</title></HEAD><BODY CLASS=k>t</BODY></HTML>", "a & b", "/x", `(body class="k": t)`},
		{"<p>a<p>b<div>c</p>d", "", "", "(body: (p: a)(p: b)(div: c(p: )d))"},
		{"<ul><li>a<li>b<ul><li>c</ul><li>d", "", "", "(body: (ul: (li: a)(li: b(ul: (li: c)))(li: d)))"},
		{"<table><td>a<th>b<tr><td>c</table>d", "", "", "(body: (table: (tbody: (tr: (td: a)(th: b))(tr: (td: c))))d)"},
		{"<table>x<tr><td>a", "", "", "(body: x(table: (tbody: (tr: (td: a)))))"},
		{"<b>a<i>b</b>c</i>d", "", "", "(body: (b: a(i: b))(i: c)d)"},
		{"<b>a<p>b</b>c", "", "", "(body: (b: a)(p: (b: b)c))"},
		{"<a href=1>a<a href=2>b", "", "", `(body: (a href="1": a)(a href="2": b))`},
		{`<a href='x' href=y onclick=z title=a/b class>`, "", "", `(body: (a href="x" title="a/b" class="": ))`},
		{`<img alt="a>b" src=c&amp;d=1&copy=2&lt><img alt=&copy;&notit;&#x41;&#65&semi;>`, "", "", `(body: (img alt="a>b" src="c&d=1&copy=2<": )(img alt="©&notit;AA;": ))`},
		{"a < b <c &lt;d&gt; &copy2 &unknown; &#0;\x00", "", "", "(body: a < b )"},
		{"a<!-- <b> -->b<!--> c --><!-- d --!>e<![CDATA[f]]>g<?php h ?>i</ j>k</>l", "", "", "(body: ab c -->egikl)"},
		{"<script>a</b><!--<script></script>--></script>b<style></p></style>c<textarea><p></textarea>d<noscript><p>e</noscript>", "", "", "(body: bcd)"},
		{"<pre>\n\na</pre><xmp><b></xmp>", "", "", "(body: (pre: \na)(pre: <b>))"},
		{"<svg><title>a</title><p>b</svg>c", "", "", "(body: (svg: (title: a))(p: bc))"},
		{"a\r\nb\rc", "", "", "(body: a\nb\nc)"},
		{"<p", "", "", "(body: )"}, {"a<", "", "", "(body: a<)"}, {"a</", "", "", "(body: a</)"}, {"<a href='b", "", "", "(body: )"},
	} {
		page, err := Read(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(page.Root.First); got != c.want || page.Title != c.title || page.Base != c.base {
			t.Errorf("%q: %s, %q, %q", c.text, got, page.Title, page.Base)
		}
	}
}

func TestElementsThatStandInOneAnotherTooDeepAreRefused(t *testing.T) {
	if _, err := Read(strings.Repeat("<div>", Deepest-3) + "x"); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"<div>", "<b>", "<table><td>", "<svg>", "<x>"} {
		if _, err := Read(strings.Repeat(s, 100_000)); !errors.Is(err, ErrDeep) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// hostile are texts that make a careless reader quadratic, or worse.
func hostile(n int) map[string]string {
	out := map[string]string{}
	for _, s := range []string{
		"<", "<a", "<a ", "<a b", "<a b=", "<a b='", "<a b=\"c", "</", "</a", "</a>", "<!", "<!-", "<!--", "<!-- -", "<!----!", "<?", "<p>", "<p>x", "<p><b>x</p>", "<b></p>", "<b>x</b>", "<li>", "<dd>x<dt>", "<td>",
		"<table><tr><td></table>", "<table>x</table>", "<table>x", "<option>", "<select><option></select>", "<br>", "</br>", "</p>", "<script>", "<script><!--", "<title>", "<title></", "<style></sty", "<pre>\n", "<svg/>", "<svg></svg>",
		"<svg><g></p>", "<math><mi></math>", "<a href=x>", "<a href=x>y<p>", "<nobr>", "<form>", "<form></form>", "<h1>", "<h1></h2>", "&", "&a", "&amp", "&#1", "\x00", "\r", " ", "x", "<a b c d e f g>", "<button>", "<template></template>",
		"<font size=1>x</p><p>", "<i></b>", "<div></div>", "<xmp>", "<plaintext>", "<![CDATA[",
	} {
		out[s] = strings.Repeat(s, n/len(s))
	}
	deep := func(s string, levels, n int) string { return strings.Repeat(s, levels) + strings.Repeat("</q>", n/8) }
	half := strings.Repeat
	out["ends that close nothing"] = "<q><div>" + half("<z>", 400) + half("</q>", n/4)
	out["text in marks in spans"] = "<b>" + half("<span>", 400) + half("x<br>", n/5)
	out["items in items"] = "<li><ul>" + half("<div>", 400) + half("<li></li>", n/9)
	out["deep ends"] = deep("<div>", 400, n)
	out["paragraphs with marks"] = half("<b><i><u><em><s>", 20) + half("<p>x", n/4)
	out["many marks"] = marks(n)
	out["marks and their blocks"] = half("<b><div>", 200) + half("</b>", n/4)
	out["marks, blocks, ends"] = half("<b><div></b></div>", n/18)
	out["links and tables"] = half("<a href=x><table><a href=y></table>", n/36)
	out["one tag"] = "<a" + attributes(n) + ">"
	out["cells and marks"] = half("<table><tr><td><b>", 100) + half("x</b><b>", n/8)
	return out
}

// attributes are very many, all of them different.
func attributes(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, " a%d=b", i)
	}
	return b.String()
}

// marks are very many that go on, all of them different.
func marks(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "<p><b class=%d>x", i)
	}
	return b.String()
}

// What is looked at, and what is made of it, grows as the text does.
func TestHostileTextsAreReadInLinearTime(t *testing.T) {
	const size = 20 << 10
	large := hostile(8 * size)
	for name, text := range hostile(size) {
		small, big := costOf(text), costOf(large[name])
		if big.looked > 10*small.looked+size || big.nodes > 10*small.nodes+size {
			t.Errorf("%q: %+v for %d bytes, %+v for %d", name, small, len(text), big, len(large[name]))
		}
		if small.looked > Deepest*len(text) || small.nodes > 8*len(text) {
			t.Errorf("%q: %+v for %d bytes", name, small, len(text))
		}
		if testing.Verbose() && small.looked > 20*len(text) {
			t.Logf("%q: %+v for %d bytes", name, small, len(text))
		}
	}
}

type cost struct{ looked, nodes int }

func costOf(text string) cost {
	b := build(text)
	c := cost{looked: b.looked}
	for n := b.doc.Root; n != nil; n = n.After(b.doc.Root, true) {
		c.nodes++
	}
	return c
}

func FuzzRead(f *testing.F) {
	for _, text := range hostile(200) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c := costOf(text); c.looked > Deepest*(len(text)+100) || c.nodes > 20*(len(text)+100) {
			t.Errorf("%+v for %d bytes", c, len(text))
		}
	})
}
