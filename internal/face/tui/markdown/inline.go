package markdown

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"ramet/internal/base/text"
)

// inlines reads the text of one block, which it takes for one paragraph. HTML stays
// text.
var inlines = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
		))
})

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
	src   []byte
	theme Theme
	base  Style
	spans []span
}

// mostBrackets of a block that is read; looking for links costs their number times
// its length. More than that is no prose, and shown as it is.
const mostBrackets = 200

// inline reads the text of one block.
func inline(src string, base Style, theme Theme) []span {
	src = strings.TrimSpace(src)
	if src == "" {
		return nil
	}
	r := reader{src: []byte(src), theme: theme, base: base}
	if !strings.ContainsAny(src, "\\`*_~[]<>&!\n") || strings.Count(src, "[") > mostBrackets {
		r.add(src, 0)
	} else {
		r.children(inlines().Parse(source.NewReader(r.src)), 0)
	}
	return r.addresses()
}

func (r *reader) add(s string, m mood) {
	// Only now are character references what they stand for.
	r.put(oneLine.Replace(text.Safe(s)), m)
}

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

func (r *reader) put(s string, m mood) {
	style := r.theme.style(r.base, m)
	if last := len(r.spans) - 1; last >= 0 && r.spans[last].style == style {
		r.spans[last].text += s
		return
	}
	r.spans = append(r.spans, span{s, style})
}

// mark shows a sign of Markdown where the theme cannot show the thing.
func (r *reader) mark(sign string, shown Style, m mood) {
	if shown == "" {
		r.put(sign, m)
	}
}

func (r *reader) children(n ast.Node, m mood) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.node(c, m)
	}
}

func (r *reader) node(n ast.Node, m mood) {
	switch n := n.(type) {
	case *ast.Text:
		value := string(n.Segment.Value(r.src))
		if m&code == 0 {
			value = text.UnescapeMarkdown(value)
		}
		r.add(value, m)
		switch {
		case n.HardLineBreak():
			r.put("\n", m)
		case n.SoftLineBreak():
			r.put(" ", m)
		}
	case *ast.String:
		r.add(string(n.Value), m)
	case *ast.CodeSpan:
		r.mark("`", r.theme.Code, m)
		r.children(n, m|code)
		r.mark("`", r.theme.Code, m)
	case *ast.Emphasis:
		sign, style, more := "*", r.theme.Emphasis, emphasis
		if n.Level > 1 {
			sign, style, more = "**", r.theme.Strong, strong
		}
		r.mark(sign, style, m)
		r.children(n, m|more)
		r.mark(sign, style, m)
	case *extast.Strikethrough:
		r.mark("~~", r.theme.Strike, m)
		r.children(n, m|strike)
		r.mark("~~", r.theme.Strike, m)
	case *ast.Link:
		r.link(n, string(n.Destination), m)
	case *ast.Image:
		r.put("image: ", m|address)
		r.link(n, string(n.Destination), m)
	case *ast.AutoLink:
		r.add(string(n.Label(r.src)), m|link)
	default:
		r.children(n, m)
	}
}

// link shows the text and, where it is another, the address: nobody should be sent
// where the text does not say.
func (r *reader) link(n ast.Node, to string, m mood) {
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
	to = text.UnescapeMarkdown(to)
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
