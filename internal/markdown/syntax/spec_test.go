package syntax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// folders are those of modules that this one needs, as far as they are on this machine.
func folders(t *testing.T, modules string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", modules).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

type example struct {
	Markdown, HTML, Section string
	Example                 int
}

// examples are those of CommonMark's standard.
func examples(t *testing.T) []example {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folders(t, "github.com/yuin/goldmark")[0], "_test", "spec.json"))
	if os.IsNotExist(err) {
		t.Skip("the library comes without the examples")
	}
	var out []example
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil || len(out) < 600 {
		t.Fatalf("%d examples: %v", len(out), err)
	}
	return out
}

// All examples of CommonMark are read as it says.
func TestExamplesOfCommonMark(t *testing.T) {
	for _, e := range examples(t) {
		if got := page([]byte(e.Markdown)); got != e.HTML {
			t.Errorf("example %d, %s: %q\ngot  %q\nwant %q", e.Example, e.Section, e.Markdown, got, e.HTML)
		}
	}
}

// page is a text as HTML, in the form of the examples.
func page(source []byte) string {
	w := writer{src: source}
	w.children(Read(source, 0), false)
	return w.String()
}

type writer struct {
	bytes.Buffer
	src []byte
}

func (w *writer) children(n *Node, tight bool) {
	for c := n.First; c != nil; c = c.Next {
		w.node(c, tight)
	}
}

// line begins a new line, unless one has just begun.
func (w *writer) line() {
	if b := w.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
		w.WriteByte('\n')
	}
}

func (w *writer) around(open string, n *Node, end string) {
	w.WriteString(open)
	w.children(n, false)
	w.WriteString(end)
}

func (w *writer) node(n *Node, tight bool) {
	if n.Kind < Text {
		w.block(n, tight)
		return
	}
	switch n.Kind {
	case Text:
		value := w.src[n.From:n.To]
		if !n.Done {
			value = Unescape(value)
		}
		w.WriteString(escaped(value))
	case Soft:
		if n.Parent.Kind == CodeSpan {
			w.WriteByte(' ')
			return
		}
		w.WriteByte('\n')
	case Hard:
		w.WriteString("<br />\n")
	case CodeSpan:
		w.around("<code>", n, "</code>")
	case Emphasis:
		w.around("<em>", n, "</em>")
	case Strong:
		w.around("<strong>", n, "</strong>")
	case Link:
		w.around(fmt.Sprintf(`<a href="%s"%s>`, linked(Unescape(n.Target)), w.title(n)), n, "</a>")
	case Image:
		inner := writer{src: w.src}
		inner.plain(n)
		fmt.Fprintf(w, `<img src="%s" alt="%s"%s />`, linked(Unescape(n.Target)), inner.String(), w.title(n))
	case Address:
		label := w.src[n.From:n.To]
		fmt.Fprintf(w, `<a href="%s">%s</a>`, n.Scheme()+linked(label), escaped(label))
	case RawHTML:
		w.Write(joined(w.src, n.Lines))
	}
}

func (w *writer) block(n *Node, tight bool) {
	if n.Kind == Definition {
		return
	}
	if !tight || n.Kind != Paragraph {
		w.line()
	}
	switch n.Kind {
	case Paragraph:
		if tight {
			w.children(n, false)
			return
		}
		w.around("<p>", n, "</p>")
	case Heading:
		w.around(fmt.Sprintf("<h%d>", n.Level), n, fmt.Sprintf("</h%d>", n.Level))
	case Code, Fence:
		language := ""
		if l := n.Language(); len(l) > 0 {
			language = fmt.Sprintf(` class="language-%s"`, escaped(Unescape(l)))
		}
		fmt.Fprintf(w, "<pre><code%s>%s</code></pre>", language, escaped([]byte(w.lines(n))))
	case HTML:
		w.WriteString(strings.TrimSuffix(w.lines(n), "\n"))
	case Rule:
		w.WriteString("<hr />")
	case Quote:
		w.around("<blockquote>\n", n, "")
		w.line()
		w.WriteString("</blockquote>")
	case List:
		w.list(n)
	}
	w.WriteByte('\n')
}

func (w *writer) list(n *Node) {
	tag, start := "ul", ""
	if n.Mark == '.' || n.Mark == ')' {
		tag = "ol"
		if n.Number != 1 {
			start = fmt.Sprintf(` start="%d"`, n.Number)
		}
	}
	fmt.Fprintf(w, "<%s%s>\n", tag, start)
	for item := n.First; item != nil; item = item.Next {
		w.WriteString("<li>")
		w.children(item, n.Tight)
		w.WriteString("</li>\n")
	}
	fmt.Fprintf(w, "</%s>", tag)
}

// joined is what stands in lines.
func joined(source []byte, lines []Line) (out []byte) {
	for _, l := range lines {
		out = append(out, source[l.From:l.To]...)
	}
	return out
}

// lines are the lines of a block, each of which ends.
func (w *writer) lines(n *Node) string {
	var b strings.Builder
	for _, l := range n.Lines {
		b.WriteString(strings.Repeat(" ", l.Pad))
		b.Write(w.src[l.From:l.To])
		if !bytes.HasSuffix(w.src[l.From:l.To], []byte("\n")) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// plain is the text of an image.
func (w *writer) plain(n *Node) {
	for c := n.First; c != nil; c = c.Next {
		switch c.Kind {
		case Text, Soft, Hard:
			w.node(c, false)
		default:
			w.plain(c)
		}
	}
}

func (w *writer) title(n *Node) string {
	if len(n.Lines) == 0 {
		return ""
	}
	return fmt.Sprintf(` title="%s"`, escaped(Unescape(joined(w.src, n.Lines))))
}

func escaped(s []byte) string {
	return strings.NewReplacer("&#34;", "&quot;", "&#39;", "'", "\x00", "\ufffd").Replace(html.EscapeString(string(s)))
}

// linked is an address as it stands in HTML.
func linked(s []byte) string {
	var b strings.Builder
	for i, c := range s {
		switch {
		case isWord(c) || strings.IndexByte("-_.+!*'(),%#@?=;:/,+&$~", c) >= 0:
			b.WriteString(escaped(s[i : i+1]))
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
