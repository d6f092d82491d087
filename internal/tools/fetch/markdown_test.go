package fetch

import (
	"runtime"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

func readHTML(t *testing.T, text string) string {
	t.Helper()
	page := Page{URL: "https://example.org/a/b?c", Type: "text/html"}
	testkit.OK(t, page.read([]byte(text), ""))
	return page.Text
}

func TestMarkdownOfElements(t *testing.T) {
	for _, c := range []struct{ html, want string }{
		{"<h1>One <b>two</b></h1><h6>six</h6>", "# One **two**\n\n###### six"},
		{"<b> bold </b>and <i>it</i><del>old</del>", "**bold** and *it*~~old~~"},
		{"<blockquote>a<pre>x\n\ny</pre><blockquote>b</blockquote></blockquote>c", "> a\n> \n> ```\n> x\n> \n> y\n> ```\n> \n> > b\n\nc"},
		{"<ul><li>a<blockquote><pre>x\ny</pre></blockquote></ul>", "- a\n  \n  > ```\n  > x\n  > y\n  > ```"},
		{"<pre class='x language-go'>\na &lt; b\n  c\n</pre>", "```go\na < b\n  c\n```"},
		{"<a href=/d>d</a> <a href=#f>f</a> <a name=x>here</a>", "[d](https://example.org/d) [f](https://example.org/a/b?c#f) here"},
		{"<img alt=none><a href=x><img src='data:image/png;base64,AAAA'></a>", "[![](data:image/png)](https://example.org/a/x)"},
		{"<table><caption>Cap</caption><thead><tr><th align=right>a<th>b<tbody><tr><td>1|2<td>x<br>y<tr><td colspan=2>w</table>", "Cap\n\n| a | b |\n|--:|---|\n| 1\\|2 | x  <br />y |\n| w |  |"},
		{"<table><tr><th>a<th>b<tr><td><code>x|y</code><td><pre>z|w</pre></table>", "| a | b |\n|---|---|\n| `x\\|y` | `z\\|w` |"},
		{"<table><tr><td>1<td><pre>a\nb|c</pre></table>", "1 \n\n```\na\nb|c\n```"},
		{"<table role=presentation><tr><td>a<td><code>b|c</code><tr><td>c</table>", "a `b|c` \n\nc"},
		{"<details><summary>s</summary>d</details><select><option>one<option>two</select>", "s\n\nd\n\none two"},
		{"<nav>n</nav><form>f</form><footer>g</footer><svg><text>s</text></svg><button>b</button><template>t</template><script>s</script><style>s</style><noscript>n</noscript><textarea>t</textarea>x", "x"},
		{"<p hidden>a<p aria-hidden=true>b<p style='Display : none'>c<p style=visibility:hidden>d<p aria-hidden=false style=display:none>e<p aria-hidden=false>f", "f"},
		{"", ""},
	} {
		if got := readHTML(t, c.html); got != c.want {
			t.Errorf("%s\n%q\nnot\n%q", c.html, got, c.want)
		}
	}
}

// hostilePages returns pages of about n bytes that make a careless converter slow, or its output long.
func hostilePages(n int) map[string]string {
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

// The cost of hostile pages is linear: eight times the input takes at most about eight times the output and memory.
func TestHostilePagesCostLinearly(t *testing.T) {
	const size = 2 << 10
	cost := func(text string) (length, allocated int) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		length = len(readHTML(t, text))
		runtime.ReadMemStats(&after)
		return length, int(after.TotalAlloc - before.TotalAlloc)
	}
	large := hostilePages(8 * size)
	for name, text := range hostilePages(size) {
		length, allocated := cost(text)
		longer, more := cost(large[name])
		if longer > 10*length+8*size || length > 100*len(text) {
			t.Errorf("%s: %d bytes for %d, %d for %d", name, length, len(text), longer, len(large[name]))
		}
		if more > 16*allocated+1<<20 {
			t.Errorf("%s: %d bytes allocated for %d, %d for %d", name, allocated, len(text), more, len(large[name]))
		}
	}
}

func TestWhatIsReadOfAPage(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, c := range []struct{ name, mediaType, body, title, text string }{
		{"addresses are relative to where it was found", "text/html", "<a href=x>y</a>", "", "[y](https://example.org/a/x)"},
		{"or to what it says", "text/html", "<base href=/b/><base href=/c/><a href=x>y</a>", "", "[y](https://example.org/b/x)"},
		{"or elsewhere", "text/html", "<base href=//other.org/z/><a href=x>y</a>", "", "[y](https://other.org/z/x)"},
		{"unless that is not an address", "text/html", "<base href='http://[z'><a href=x>y</a>", "", "[y](https://example.org/a/x)"},
		{"the title is in one line", "text/html", "<title>\n a  &amp;\tb </title>c", "a & b", "c"},
		{"what is said to be the text", "text/html", "<p>around</p><main>" + long + "</main>", "", strings.TrimSpace(long)},
		{"a small part is not the text", "text/html", "<p>" + long + "</p><main>x</main>", "", strings.TrimSpace(long) + "\n\nx"},
		{"an article, where there is nothing else", "text/html", "<p>around</p><article>" + long + "</article>", "", strings.TrimSpace(long)},
		{"an article besides a main part that is small", "text/html", "<main>x</main><article>" + long + "</article>", "", strings.TrimSpace(long)},
		{"what is hidden as a whole", "text/html", "<body style='display:none'>x", "", ""},
		{"XHTML", "application/xhtml+xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>a<br/>b</p></body></html>`, "", "a  \nb"},
		{"text is left as it is", "text/plain", "<b>\xc3\xa9</b>\r\n", "", "<b>é</b>\r\n"},
		{"but for its bytes", "text/plain; charset=iso-8859-1", "\xe9", "", "é"},
		{"UTF-8 is that, whatever is said", "text/plain; charset=iso-8859-1", "\xc3\xa9", "", "é"},
	} {
		page := Page{URL: "https://example.org/a/b"}
		page.Type, _, _ = strings.Cut(c.mediaType, ";")
		if err := page.read([]byte(c.body), c.mediaType); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if page.Title != c.title || page.Text != c.text {
			t.Errorf("%s: %q, %q", c.name, page.Title, page.Text)
		}
	}
	page := Page{URL: "https://example.org/", Type: "text/html"}
	if err := page.read([]byte(strings.Repeat("<i>", 1000)), ""); err == nil || !strings.Contains(err.Error(), "not a page for people") {
		t.Error(err)
	}
}
