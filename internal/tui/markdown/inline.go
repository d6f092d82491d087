package markdown

import (
	"strings"
	"sync"

	"ramet/internal/late"
	"ramet/internal/markdown/syntax"
	"ramet/internal/text"
)

// readers read the text of one block each, which they take for one paragraph. HTML stays text.
var readers = sync.Pool{New: func() any { return new(syntax.Reader) }}

// mood is what a stretch of text is, besides text.
type mood uint8

const (
	strong mood = 1 << iota
	emphasis
	strike
	code
	link
	address
)

func (t Theme) style(base Style, m mood) Style {
	for _, part := range [...]struct {
		m mood
		s Style
	}{{strong, t.Strong}, {emphasis, t.Emphasis}, {strike, t.Strike}, {code, t.Code}, {link, t.Link}, {address, t.Address}} {
		if m&part.m != 0 {
			base = join(base, part.s)
		}
	}
	return base
}

// reader collects the spans of one block.
type reader struct {
	src   string
	theme Theme
	base  Style
	spans []span
}

// inline reads the text of one block.
func inline(src string, base Style, theme Theme) []span {
	src = strings.TrimSpace(src)
	if src == "" {
		return nil
	}
	r := reader{src: src, theme: theme, base: base}
	if !strings.ContainsAny(src, "\\`*_~[]<>&!\n") {
		r.add(src, 0)
	} else {
		words := readers.Get().(*syntax.Reader)
		r.children(words.Read(src), 0)
		readers.Put(words)
	}
	return r.addresses()
}

func (r *reader) add(s string, m mood) {
	// Only now are character references what they stand for.
	r.put(oneLine.Get().Replace(text.Safe(s)), m)
}

var oneLine = late.Value[*strings.Replacer]{Make: func() *strings.Replacer { return strings.NewReplacer("\n", " ", "\t", " ") }}

func (r *reader) put(s string, m mood) {
	style := r.theme.style(r.base, m)
	if last := len(r.spans) - 1; last >= 0 && r.spans[last].style == style {
		r.spans[last].text += s
		return
	}
	r.spans = append(r.spans, span{s, style})
}

func (r *reader) children(n *syntax.Node, m mood) {
	for c := n.First; c != nil; c = c.Next {
		r.node(c, m)
	}
}

func (r *reader) node(n *syntax.Node, m mood) {
	switch n.Kind {
	case syntax.Text:
		value := r.src[n.From:n.To]
		if !n.Done {
			value = plainOf(value)
		}
		r.add(value, m)
	case syntax.Hard:
		r.put("\n", m)
	case syntax.Soft:
		r.put(" ", m)
	case syntax.CodeSpan:
		r.marked(n, "`", r.theme.Code, m, code)
	case syntax.Emphasis:
		r.marked(n, "*", r.theme.Emphasis, m, emphasis)
	case syntax.Strong:
		r.marked(n, "**", r.theme.Strong, m, strong)
	case syntax.Strike:
		r.marked(n, "~~", r.theme.Strike, m, strike)
	case syntax.Link:
		r.link(n, m)
	case syntax.Image:
		r.put("image: ", m|address)
		r.link(n, m)
	case syntax.Address:
		r.add(r.src[n.From:n.To], m|link)
	}
}

// marked shows what stands between marks, and these where the theme has no style for it.
func (r *reader) marked(n *syntax.Node, sign string, shown Style, m, more mood) {
	if shown == "" {
		r.put(sign, m)
	}
	r.children(n, m|more)
	if shown == "" {
		r.put(sign, m)
	}
}

// link shows the text and, where it is another, the address: nobody should be sent
// where the text does not say.
func (r *reader) link(n *syntax.Node, m mood) {
	before := len(r.spans)
	size := 0
	if before > 0 {
		size = len(r.spans[before-1].text)
	}
	r.children(n, m|link)
	var shown strings.Builder
	for i := max(before-1, 0); i < len(r.spans); i++ {
		s := r.spans[i].text
		if i == before-1 {
			s = s[size:]
		}
		shown.WriteString(s)
	}
	to := plainOf(string(n.Target))
	if s := shown.String(); to == "" || s == to || "mailto:"+s == to {
		return
	}
	if shown.Len() > 0 {
		r.put(" ", m)
	}
	r.add("("+to+")", m|address)
}

// addresses finds the bare ones.
func (r *reader) addresses() []span {
	plain := r.theme.style(r.base, 0)
	var out []span
	for _, s := range r.spans {
		for s.style == plain {
			at := strings.Index(s.text, "http")
			for at >= 0 && !strings.HasPrefix(s.text[at:], "http://") && !strings.HasPrefix(s.text[at:], "https://") {
				next := strings.Index(s.text[at+4:], "http")
				if next < 0 {
					at = -1
					break
				}
				at += 4 + next
			}
			if at < 0 {
				break
			}
			end := at + len(s.text[at:])
			if space := strings.IndexAny(s.text[at:], " \n<>\"`"); space >= 0 {
				end = at + space
			}
			end = at + len(strings.TrimRight(s.text[at:end], ".,;:!?)]}'*"))
			if at > 0 {
				out = append(out, span{s.text[:at], plain})
			}
			out = append(out, span{s.text[at:end], r.theme.style(r.base, link)})
			s.text = s.text[end:]
		}
		if s.text != "" {
			out = append(out, s)
		}
	}
	return out
}

// plainOf resolves backslashes and character references.
func plainOf(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	return string(syntax.Unescape([]byte(s)))
}
