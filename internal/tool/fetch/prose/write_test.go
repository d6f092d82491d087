package prose

import (
	"runtime"
	"strings"
	"testing"

	"ramet/internal/tool/fetch/markup"
)

func TestWhatIsWritten(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{"<h1>One <b>two</b></h1><h6>six</h6><h2><div>in</div> a block</h2><h3></h3>", "# One **two**\n\n###### six\n\n## in a block"},
		{"<p>a\n  b<p>c", "a b\n\nc"},
		{"a<br>b<br><br>c<br>", "a  \nb\n\nc"},
		{"<b> bold </b>and<i>it</i><del>old</del> <b></b>", "**bold** and*it*~~old~~"},
		{"<b>one</b><strong>two <b>three</b></strong>", "**onetwo three**"},
		{"<b><p>one<p>two</b>", "**one**\n\n**two**"},
		{"<b>Note:</b>this, say<i>(that)</i>", "**Note:** this, say *(that)*"},
		{"<ul><li>a<li><p>b<p>c<ul><li>d</ul><li></ul><ul><li>e", "- a\n- b\n\n  c\n  - d\n\n- e"},
		{"<ol start=9><li>a<pre>x\n\ny</pre><li value=20>b<li>c", "9. a\n\n   ```\n   x\n\n   y\n   ```\n20. b\n21. c"},
		{"<ul><li>a</li><ul><li>b</ul></ul>", "- a\n  - b"},
		{"<blockquote>a<p>b<blockquote>c</blockquote></blockquote>d", "> a\n>\n> b\n>\n> > c\n\nd"},
		{"<pre class='x language-go'>\na &lt; b\n  c\n</pre>", "```go\na < b\n  c\n```"},
		{"<pre><code class=lang-py>x<br>``` y</code></pre>", "````py\nx\n``` y\n````"},
		{"<code>a  b</code> <code>`</code> <kbd>k</kbd><tt></tt>", "`a b` `` ` `` `k`"},
		{"<a href=c>to <b>c</b></a>, <a href=/d title='a \"t\"'>d</a> <a href=#f>f</a> <a href=//h/i>i</a> <a href=m(1).html>m</a>", "[to **c**](https://example.org/a/c), [d](https://example.org/d \"a \\\"t\\\"\") [f](https://example.org/a/b?c#f) [i](https://h/i) [m](https://example.org/a/m%281%29.html)"},
		{"<a name=x>here</a> <a href=mailto:a@b>mail</a> <a href='http://[bad'>bad</a> <a href=y></a>", "here [mail](mailto:a@b) [bad](http://%5Bbad) [](https://example.org/a/y)"},
		{"<a href=x><h2>Head</h2><p>text</p></a>", "## [Head](https://example.org/a/x)\n\ntext"},
		{"<img src=i.png alt='an [image]' title=t><img alt=none><a href=x><img src='data:image/png;base64,AAAA'></a>!<a href=y>z</a>", "![an \\[image\\]](https://example.org/a/i.png \"t\")[![](data:image/png)](https://example.org/a/x)\\![z](https://example.org/a/y)"},
		{"<table><caption>Cap</caption><thead><tr><th align=right>a<th>b<tbody><tr><td>1|2<td><b>x</b><br>y<tr><td colspan=2>w</table>", "Cap\n\n| a | b |\n|--:|---|\n| 1\\|2 | **x**<br>y |\n| w |  |"},
		{"<table><tr><td rowspan=2>a<td>b<tr><td>c</table>", "|  |  |\n|---|---|\n| a | b |\n|  | c |"},
		{"<table><tr><td>a<td><ul><li>b</ul><td>c</table>", "a\n\n- b\n\nc"},
		{"<table role=presentation><tr><td>a<td>b<tr><td>c</table>", "a b\n\nc"},
		{"one<hr>two", "one\n\n* * *\n\ntwo"},
		{"<dl><dt>a<dd>b<dd>c</dl><details><summary>s</summary>d</details>", "a\n\nb\n\nc\n\ns\n\nd"},
		{"2 * 3, a*b*, snake_case, _x_, [a](b), `c`, \\d, \\., &lt;tag>, a < b, &amp;lt;, R&amp;D;x, ~~z~~", "2 * 3, a\\*b\\*, snake_case, \\_x\\_, [a\\](b), \\`c\\`, \\d, \\\\., \\<tag>, a < b, \\&lt;, R\\&D;x, \\~\\~z\\~\\~"},
		{"<p># a<p>- b<p>+ c<p>> d<p>1. e<p>2) f<p>---<p>===<p>* g<p>1.5<p>-h<p>#i", "\\# a\n\n\\- b\n\n\\+ c\n\n\\> d\n\n1\\. e\n\n2\\) f\n\n\\---\n\n\\===\n\n\\* g\n\n1.5\n\n-h\n\n#i"},
		{"a&nbsp;&nbsp;b<select><option>one<option>two</select>", "a b\n\none two"},
		{"<nav>n</nav><form>f</form><footer>g</footer><svg><text>s</text></svg><button>b</button><template>t</template><script>s</script><style>s</style><noscript>n</noscript><textarea>t</textarea>x", "x"},
		{"<p hidden>a<p aria-hidden=true>b<p style='Display : none'>c<p style=visibility:hidden>d<p aria-hidden=false style=display:none>e<p aria-hidden=false>f", "f"},
		{"", ""},
	} {
		if got := ours(t, c.html); got != c.want {
			t.Errorf("%s\n%s\nnot\n%s", c.html, got, c.want)
		}
	}
}

// hostile are pages that make a careless writer slow, or what it writes long.
func hostile(n int) map[string]string {
	many := func(s string) string { return strings.Repeat(s, n/len(s)) }
	deep := func(s string) string { return strings.Repeat(s, 200) }
	return map[string]string{
		"lines in lists":       deep("<ul><li>") + many("x<br>"),
		"lines in numbers":     deep("<ol start=999999999><li>") + many("x<br>"),
		"lines in quotes":      deep("<blockquote>") + many("x<br>"),
		"code in quotes":       deep("<blockquote>") + "<pre>" + many("x\n"),
		"tables in tables":     strings.Repeat("<table><tr><td>", 120) + many("x<p>"),
		"wide and long":        "<table><tr>" + strings.Repeat("<td>", n/8) + strings.Repeat("<tr><td>", n/16),
		"spans":                "<table><tr>" + strings.Repeat("<td colspan=64 rowspan=64>", n/52) + strings.Repeat("<tr><td>x", n/18),
		"marks":                many("<b>x<i>y</b>z</i>"),
		"links":                many("<a href=x>"),
		"links around blocks":  deep("<a href=x><div>") + many("x<p>"),
		"references":           many("&amp;a;"),
		"semicolons":           many("a;"),
		"stars":                many("*"),
		"spaces":               many(" "),
		"breaks":               many("<br>"),
		"marks and breaks":     "<b>" + many("<br>x"),
		"codes":                many("<code>x</code>"),
		"ticks":                "<code>" + many("`"),
		"pictures":             many("<img src=x>"),
		"headings":             many("<h1>x"),
		"blocks in a heading":  "<h1>" + many("<div>x</div>"),
		"blocks in a cell":     "<table><td>" + many("<div>x</div>"),
		"lists without items":  many("<ul></ul>"),
		"items without a list": many("<li>"),
	}
}

// What is written grows as the page does: a page eight times as long has no more than eight times the Markdown, and
// the work on it shows in what is allocated.
func TestWhatIsWrittenGrowsAsThePageDoes(t *testing.T) {
	const size = 16 << 10
	large := hostile(8 * size)
	for name, text := range hostile(size) {
		length, made := cost(t, text)
		longer, more := cost(t, large[name])
		if longer > 10*length+size || length > 100*len(text) {
			t.Errorf("%s: %d bytes for %d, %d for %d", name, length, len(text), longer, len(large[name]))
		}
		if more > 12*made+64*size {
			t.Errorf("%s: %d bytes allocated for %d, %d for %d", name, made, len(text), more, len(large[name]))
		}
	}
}

// cost is the length of what is written, and how many bytes were allocated for it.
func cost(t *testing.T, text string) (length, made int) {
	t.Helper()
	page, err := markup.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	length = len(Write(page.Root, nil))
	runtime.ReadMemStats(&after)
	return length, int(after.TotalAlloc - before.TotalAlloc)
}

func FuzzWrite(f *testing.F) {
	for _, text := range hostile(200) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		page, err := markup.Read(text)
		if err != nil {
			return
		}
		if written := Write(page.Root, nil); len(written) > 200*len(text)+1000 {
			t.Errorf("%d bytes were written for %d", len(written), len(text))
		}
	})
}
