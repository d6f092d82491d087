package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"

	"ramet/internal/base/text"
)

// inline returns the words of a block with their styles. A line feed in them is a line break.
func (p *page) inline(n ast.Node, base Style) string {
	r := reader{src: p.src, theme: p.theme}
	r.children(n, base)
	r.switchTo("")
	return strings.TrimSpace(r.out.String())
}

type reader struct {
	src   []byte
	theme Theme
	out   strings.Builder
	plain strings.Builder // the same words without styles
	now   Style
}

func (r *reader) switchTo(s Style) {
	if s == r.now {
		return
	}
	if r.now != "" {
		r.out.WriteString("\x1b[m")
	}
	if s != "" {
		r.out.WriteString("\x1b[" + string(s) + "m")
	}
	r.now = s
}

func (r *reader) put(s string, style Style) {
	if s = detach(s); s == "" {
		return
	}
	r.switchTo(style)
	r.out.WriteString(s)
	r.plain.WriteString(s)
}

// add puts a text of the source, which is safe again now that character references are resolved.
func (r *reader) add(s string, style Style) { r.put(oneLine.Replace(text.Safe(s)), style) }

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

func (r *reader) children(n ast.Node, style Style) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.node(c, style)
	}
}

// marked puts the children of a node in a style, and between the characters of Markdown where the theme has none.
func (r *reader) marked(n ast.Node, sign string, own, style Style) {
	if own != "" {
		sign = ""
	}
	r.put(sign, style)
	r.children(n, join(style, own))
	r.put(sign, style)
}

func (r *reader) node(n ast.Node, style Style) {
	switch n := n.(type) {
	case *ast.Text:
		value := string(n.Segment.Value(r.src))
		if !n.IsRaw() {
			value = text.UnescapeMarkdown(value)
		}
		r.add(value, style)
		switch {
		case n.HardLineBreak():
			r.put("\n", style)
		case n.SoftLineBreak():
			r.put(" ", style)
		}
	case *ast.String:
		r.add(string(n.Value), style)
	case *ast.CodeSpan:
		r.marked(n, "`", r.theme.Code, style)
	case *ast.Emphasis:
		if n.Level > 1 {
			r.marked(n, "**", r.theme.Strong, style)
		} else {
			r.marked(n, "*", r.theme.Emphasis, style)
		}
	case *tables.Strikethrough:
		r.marked(n, "~~", r.theme.Strike, style)
	case *tables.TaskCheckBox: // the marker of the item
	case *ast.Link:
		r.link(n, string(n.Destination), style)
	case *ast.Image:
		r.put("image: ", join(style, r.theme.Address))
		r.link(n, string(n.Destination), style)
	case *ast.AutoLink:
		r.add(string(n.Label(r.src)), join(style, r.theme.Link))
	default:
		r.children(n, style)
	}
}

// link puts the text and, where it differs, the address: a text must not hide where its link leads.
func (r *reader) link(n ast.Node, to string, style Style) {
	before := r.plain.Len()
	r.children(n, join(style, r.theme.Link))
	shown := r.plain.String()[before:]
	to = text.UnescapeMarkdown(to)
	if to == "" || shown == to || "mailto:"+shown == to {
		return
	}
	if shown != "" {
		r.put(" ", style)
	}
	r.add("("+to+")", join(style, r.theme.Address))
}

// Wrap breaks a text with styles into lines of at most w cells: after one of the characters in at where it can, else
// between grapheme clusters. Unless at is empty, spaces at a break are dropped. A style that is on at a break is
// switched on again in the next line.
func Wrap(s string, w int, at string) []string {
	w = max(w, 1)
	var out []string
	on := ""
	for l := range strings.SplitSeq(s, "\n") {
		for {
			end := lineEnd(l, w, at)
			head, rest := l[:end], l[end:]
			if at != "" {
				if rest = strings.TrimLeft(rest, " \ufe0f"); rest != "" {
					head = strings.TrimRight(head, " ")
				}
			}
			out = append(out, on+head)
			if on = openStyle(on, head); on != "" {
				out[len(out)-1] += ansi.ResetStyle
			}
			if rest == "" {
				break
			}
			l = rest
		}
	}
	return out
}

func lineEnd(s string, w int, at string) int {
	cells, end, word := 0, 0, 0 // end: after what fits, and the reset of its style
	for i := 0; i < len(s); {
		if n := StyleEnd(s[i:]); n > 0 {
			if i += n; s[i-n:i] == ansi.ResetStyle {
				end = i
			}
			continue
		}
		_, wide, n := text.NextCell(s[i:])
		if cells += wide; cells > w && end > 0 {
			if word == 0 || s[i] == ' ' && at != "" {
				return end
			}
			return word
		}
		i += n
		end = i
		if at != "" && (wide == 2 || strings.IndexByte(at, s[i-1]) >= 0) && strings.TrimLeft(s[:i], " ") != "" {
			word = i
		}
	}
	return len(s)
}

// openStyle returns the styles that are on after a text, given those before it.
func openStyle(on, s string) string {
	for i := strings.IndexByte(s, 0x1b); i >= 0 && i < len(s); i++ {
		if n := StyleEnd(s[i:]); n > 0 {
			if on += s[i : i+n]; s[i:i+n] == ansi.ResetStyle {
				on = ""
			}
			i += n - 1
		}
	}
	return on
}

// StyleEnd returns the length of the style with which a text begins; 0 if it begins with something else.
func StyleEnd(s string) int {
	if len(s) < 3 || s[0] != 0x1b || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// trimRight removes the spaces at the end of a line, also in its last style.
func trimRight(l string) string {
	bare := strings.TrimRight(l, " ")
	if styled, ok := strings.CutSuffix(bare, ansi.ResetStyle); ok {
		return strings.TrimRight(styled, " ") + ansi.ResetStyle
	}
	return bare
}

// expandTabs replaces tabs by spaces up to the next fourth column.
func expandTabs(s string) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	column := 0
	for i, part := range strings.Split(s, "\t") {
		if i > 0 {
			n := 4 - column%4
			b.WriteString("    "[:n])
			column += n
		}
		b.WriteString(part)
		column += text.Width(part)
	}
	return b.String()
}
