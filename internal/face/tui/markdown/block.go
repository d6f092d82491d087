package markdown

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
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

// showTable shows a table in columns, or one cell after the other where not even narrow columns fit.
func (p *page) showTable(n *tables.Table) {
	var rows [][]string
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		style := Style("")
		if _, head := r.(*tables.TableHeader); head {
			style = p.theme.TableHead
		}
		var row []string
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			row = append(row, p.inline(c, style))
		}
		rows = append(rows, row)
	}
	widths := shareWidth(rows, p.room())
	if widths == nil {
		p.show(p.stackCells(rows))
		return
	}
	var out []string
	for i, row := range rows {
		if out = append(out, p.layRow(row, widths, n.Alignments)...); i == 0 {
			var lines []string
			for _, w := range widths {
				lines = append(lines, strings.Repeat("─", w))
			}
			out = append(out, p.theme.TableLine.Of(strings.Join(lines, "─┼─")))
		}
	}
	p.show(out)
}

func (p *page) stackCells(rows [][]string) (out []string) {
	for _, row := range rows {
		for i, cell := range row {
			if cell == "" {
				continue
			}
			if i > 0 {
				cell = p.theme.TableLine.Of("| ") + cell
			}
			out = append(out, Wrap(cell, p.room(), " ")...)
		}
	}
	return out
}

func (p *page) layRow(row []string, widths []int, alignments []tables.Alignment) []string {
	columns, height := make([][]string, len(widths)), 1
	for i, w := range widths {
		columns[i] = Wrap(row[i], w, " ")
		height = max(height, len(columns[i]))
	}
	out := make([]string, height)
	for y := range out {
		for i, w := range widths {
			cell := ""
			if y < len(columns[i]) {
				cell = columns[i][y]
			}
			free := max(0, w-ansi.StringWidth(cell))
			left := map[tables.Alignment]int{tables.AlignRight: free, tables.AlignCenter: free / 2}[alignments[i]]
			if i > 0 {
				out[y] += p.theme.TableLine.Of(" │ ")
			}
			out[y] += strings.Repeat(" ", left) + cell + strings.Repeat(" ", free-left)
		}
		out[y] = strings.TrimRight(out[y], " ")
	}
	return out
}

// shareWidth gives each column its width: what it wants, else what there is, taken from the widest first. It returns
// nil where not even narrow columns fit.
func shareWidth(rows [][]string, room int) []int {
	const narrowest = 4
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell), 1)
		}
	}
	room -= 3 * (len(widths) - 1)
	total := 0
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := slices.Max(widths)
		if widest <= narrowest {
			return nil
		}
		widths[slices.Index(widths, widest)]--
	}
	return widths
}

// hunk counts the lines of a diff that are still to come, so that a removed line
// that begins with two dashes is not taken for a file's name.
type hunk struct{ old, new int }

func (h *hunk) line(s string, theme Theme) Style {
	inside := h.old > 0 || h.new > 0
	switch {
	case strings.HasPrefix(s, "@@"):
		*h = hunkOf(s)
		return theme.Hunk
	case !inside && (strings.HasPrefix(s, "+++ ") || strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "diff ") || strings.HasPrefix(s, "index ")):
		return theme.Comment
	case strings.HasPrefix(s, "+"):
		h.new--
		return theme.Added
	case strings.HasPrefix(s, "-"):
		h.old--
		return theme.Removed
	case !strings.HasPrefix(s, `\`): // "\ No newline at end of file" is not a line of either
		h.old--
		h.new--
	}
	return theme.Plain
}

// hunkOf reads "@@ -1,2 +3 @@"; a count that is left out is one.
func hunkOf(s string) hunk {
	fields := strings.Fields(s)
	if len(fields) < 3 {
		return hunk{}
	}
	count := func(field string) int {
		_, n, ok := strings.Cut(field, ",")
		if !ok {
			return 1
		}
		lines, _ := strconv.Atoi(n) // one that cannot be read is none
		return lines
	}
	return hunk{count(fields[1]), count(fields[2])}
}
