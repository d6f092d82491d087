package markdown

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	tables "github.com/yuin/goldmark/extension/ast"
)

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
