package prose

import (
	"bytes"
	"net/url"
	"strings"
	"unicode/utf8"

	"ramet/internal/tool/fetch/markup"
)

// link writes an element a. One that leads nowhere is its text.
func (w *writer) link(n *markup.Node) {
	href, ok := n.Get("href")
	if !ok {
		w.children(n)
		return
	}
	w.marked("[", "]("+w.address(href)+title(n)+")", func() { w.children(n) })
}

func (w *writer) picture(n *markup.Node) {
	src, _ := n.Get("src")
	if strings.TrimSpace(src) == "" {
		return
	}
	alt, _ := n.Get("alt")
	alt = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`").Replace(strings.Join(strings.Fields(alt), " "))
	w.begin('!')
	w.line = append(w.line, "!["+alt+"]("+w.address(src)+title(n)+")"...)
}

// title is the title of a link or a picture, as it stands behind the address.
func title(n *markup.Node) string {
	s, _ := n.Get("title")
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return ""
	}
	return ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// address is an absolute one, in which no sign stands that would end it. Of data that is no address only the sort
// is told: it would be long, and nobody reads it.
func (w *writer) address(raw string) string {
	raw = strings.TrimSpace(raw)
	if len(raw) > 5 && strings.EqualFold(raw[:5], "data:") {
		raw, _, _ = strings.Cut(raw, ",")
		raw, _, _ = strings.Cut(raw, ";")
		return encode(raw)
	}
	if raw == "#" {
		return raw
	}
	u, err := url.Parse(strings.NewReplacer("\n", "", "\t", "").Replace(raw))
	if err != nil {
		return encode(raw)
	}
	if w.base != nil {
		u = w.base.ResolveReference(u)
	}
	return encode(u.String())
}

// encode writes the signs of an address that mean something in Markdown by their numbers.
func encode(s string) string {
	if !strings.ContainsAny(s, " \n\t\"[]()<>|\\`*") {
		return s
	}
	return strings.NewReplacer(" ", "%20", "\n", "%0A", "\t", "%09", `"`, "%22", "[", "%5B", "]", "%5D", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "|", "%7C", `\`, "%5C",
		"`", "%60", "*", "%2A").Replace(s)
}

// code writes code within a line. Two of them side by side are one.
func (w *writer) code(n *markup.Node) {
	var b bytes.Buffer
	verbatim(&b, n)
	text := b.String()
	words := strings.FieldsFunc(text, func(r rune) bool { return r < utf8.RuneSelf && blank(byte(r)) })
	if len(words) == 0 {
		w.space = w.space || text != ""
		return
	}
	w.space = w.space || blank(text[0])
	s := strings.Join(words, " ")
	if w.cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	fence := strings.Repeat("`", ticks(s, 0)+1)
	w.begin('`')
	if strings.Contains(s, "]:") && w.inLink() { // at the beginning of a line it would be a definition
		w.word(strings.Join(words, " "), true)
		w.space = blank(text[len(text)-1])
		return
	}
	switch last := w.last(); {
	case last == fence && s[0] != '`' && s[len(s)-1] != '`':
		w.undo()
	case strings.HasPrefix(last, "`"):
		w.line = append(w.line, ' ')
		fallthrough
	default:
		w.line = append(w.line, fence...)
		if s[0] == '`' || s[len(s)-1] == '`' {
			s = " " + s + " "
		}
	}
	w.line = append(w.line, s...)
	w.close(fence, fence)
	w.space = blank(text[len(text)-1])
}

// pre writes a block of code.
func (w *writer) pre(n *markup.Node) {
	var b bytes.Buffer
	verbatim(&b, n)
	text := strings.TrimRight(b.String(), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	fence := strings.Repeat("`", ticks(text, 2)+1)
	w.block(fence + language(n) + "\n" + text + "\n" + fence)
}

// ticks is the length of the longest run of backticks, and no less than that.
func ticks(s string, least int) int {
	run := 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		if run++; run > least {
			least = run
		}
	}
	return least
}

// verbatim is the text of a part of a page as it was written.
func verbatim(b *bytes.Buffer, n *markup.Node) {
	for c := n.First; c != nil; c = c.Next {
		switch {
		case c.Name == "":
			b.WriteString(spaces(c.Text))
		case c.Name == "br":
			b.WriteByte('\n')
		case c.Name == "img":
			alt, _ := c.Get("alt")
			b.WriteString(alt)
		case !Skipped(c):
			lines := block(c.Name) && n.Name != "code" || c.Name == "tr"
			if lines && b.Len() > 0 && b.Bytes()[b.Len()-1] != '\n' {
				b.WriteByte('\n')
			}
			verbatim(b, c)
			if lines && b.Len() > 0 && b.Bytes()[b.Len()-1] != '\n' {
				b.WriteByte('\n')
			}
		}
	}
}

// language is the one that a class names, of a block of code or of what is in it.
func language(n *markup.Node) string {
	for _, at := range []*markup.Node{n, n.First} {
		if at == nil {
			continue
		}
		class, _ := at.Get("class")
		for _, word := range strings.Fields(class) {
			for _, prefix := range []string{"language-", "lang-"} {
				if name, ok := strings.CutPrefix(word, prefix); ok && !strings.ContainsAny(name, "`\\") {
					return name
				}
			}
		}
	}
	return ""
}
