package fetch

import (
	"strings"
	"testing"
)

func TestWhatIsReadOfAPage(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, c := range []struct{ name, mediaType, body, title, text string }{
		{"addresses are relative to where it was found", "text/html", "<a href=x>y</a>", "", "[y](https://example.org/a/x)"},
		{"or to what it says", "text/html", "<base href=/b/><base href=/c/><a href=x>y</a>", "", "[y](https://example.org/b/x)"},
		{"or elsewhere", "text/html", "<base href=//other.org/z/><a href=x>y</a>", "", "[y](https://other.org/z/x)"},
		{"unless that is no address", "text/html", "<base href='http://[z'><a href=x>y</a>", "", "[y](https://example.org/a/x)"},
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
	if err := page.read([]byte(strings.Repeat("<i>", 1000)), ""); err == nil || !strings.Contains(err.Error(), "no page for people") {
		t.Error(err)
	}
}
