package markdown

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"

	"ramet/internal/base/text"
)

// page lays out a document. boxes are the quotes and list items around the current block.
type page struct {
	src   []byte
	theme Theme
	width int
	boxes []box
	blank bool // a blank line precedes the next block
	out   []string
}

type box struct {
	quote  bool
	marker string // of a list item, before its first line
	fresh  bool   // nothing of it was shown yet
}

func (p *page) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.blank = p.blank || c.HasBlankPreviousLines()
		p.block(c)
	}
}

func (p *page) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		if words := p.inline(n, ""); words != "" {
			p.show(Wrap(words, p.room(), " "))
		}
	case *ast.Heading:
		p.blank = p.blank || len(p.boxes) == 0
		words := p.inline(n, p.theme.Heading)
		if p.theme.Heading == "" {
			words = strings.Repeat("#", n.Level) + " " + words
		}
		p.show(Wrap(words, p.room(), " "))
	case *ast.ThematicBreak:
		p.show([]string{p.theme.Rule.Of(strings.Repeat("─", p.room()))})
	case *ast.FencedCodeBlock:
		language := string(n.Language(p.src))
		p.showCodeHead(language)
		p.showCode(n, language)
	case *ast.CodeBlock:
		p.showCode(n, "")
	case *ast.Blockquote:
		p.within(n, box{quote: true})
	case *ast.List:
		number := n.Start
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			p.blank = p.blank || c.HasBlankPreviousLines()
			marker := p.bullet()
			if n.IsOrdered() {
				marker = fmt.Sprintf("%d%c ", number, n.Marker)
			}
			if task := findTask(c); task != nil {
				marker = map[bool]string{false: "[ ] ", true: "[x] "}[task.IsChecked]
			}
			p.within(c, box{marker: marker})
			number++
		}
	case *tables.Table:
		p.blank = true
		p.showTable(n)
	default:
		p.children(n)
	}
}

// within lays out the blocks in a box. An item without content is one line.
func (p *page) within(n ast.Node, b box) {
	b.fresh = true
	p.boxes = append(p.boxes, b)
	p.children(n)
	if last := p.boxes[len(p.boxes)-1]; last.fresh && !last.quote {
		p.show([]string{""})
	}
	p.boxes = p.boxes[:len(p.boxes)-1]
}

// findTask returns the check box with which a list item begins, or nil.
func findTask(item ast.Node) *tables.TaskCheckBox {
	if item.FirstChild() == nil {
		return nil
	}
	task, _ := item.FirstChild().FirstChild().(*tables.TaskCheckBox)
	return task
}

func (p *page) bullet() string {
	n := 0
	for _, b := range p.boxes {
		if !b.quote {
			n++
		}
	}
	return [...]string{"• ", "◦ ", "▪ "}[n%3]
}

// showCodeHead shows the language above a block of code, so that two blocks in a row look like two.
// It is not next to the code: a person who copies lines copies code.
func (p *page) showCodeHead(language string) {
	if len(language) > p.room()-2 || strings.ContainsFunc(language, func(r rune) bool { return r <= ' ' || r > '~' }) {
		language = ""
	}
	p.show([]string{p.theme.Rule.Of(strings.TrimRight("╶ "+language, " "))})
}

// showCode shows the lines of a block of code, indented by two.
func (p *page) showCode(n ast.Node, language string) {
	room, inset := p.room(), "  "
	if room < 12 {
		inset = ""
	}
	code := NewCode(language)
	var out []string
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		l := ""
		for _, s := range code.Line(expandTabs(strings.TrimRight(string(segment.Value(p.src)), "\n")), p.theme) {
			l += s.Style.Of(s.Text)
		}
		for _, row := range Wrap(l, room-len(inset), "") {
			if row != "" {
				row = inset + row
			}
			out = append(out, row)
		}
	}
	if len(out) > 0 {
		p.show(out)
	}
}

// show shows the lines of a block behind the prefix of its boxes, after the blank line before it.
func (p *page) show(lines []string) {
	if p.blank && len(p.out) > 0 {
		blank, used := "", 0
		for _, b := range p.boxes {
			if used += b.width(); b.fresh || used > p.width/2 {
				break
			}
			blank += b.next(p.theme)
		}
		p.out = append(p.out, trimRight(blank))
	}
	p.blank = false
	first, next, _ := p.prefix()
	for _, l := range lines {
		p.out = append(p.out, first+l)
		first = next
	}
	for i := range p.boxes {
		p.boxes[i].fresh = false
	}
}

// prefix returns what the boxes put before the first line and before the others, and its width, which is at most half
// of the page's.
func (p *page) prefix() (first, next string, width int) {
	for _, b := range p.boxes {
		if width+b.width() > p.width/2 {
			break
		}
		if width += b.width(); b.fresh && !b.quote {
			first += p.theme.Bullet.Of(b.marker)
		} else {
			first += b.next(p.theme)
		}
		next += b.next(p.theme)
	}
	return first, next, width
}

func (b box) width() int {
	if b.quote {
		return 2
	}
	return text.Width(b.marker)
}

// next returns what a box puts before all lines but its first.
func (b box) next(theme Theme) string {
	if b.quote {
		return theme.Quote.Of("│ ")
	}
	return strings.Repeat(" ", b.width())
}

func (p *page) room() int {
	_, _, width := p.prefix()
	return p.width - width
}
