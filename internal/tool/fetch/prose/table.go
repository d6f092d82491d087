package prose

import (
	"strconv"
	"strings"

	"ramet/internal/tool/fetch/markup"
)

// mostSpan is how many columns or rows one cell may take; what says more is not believed.
const mostSpan = 64

// table writes a table. Where something stands in it that no cell of Markdown can hold, its rows are blocks.
func (w *writer) table(n *markup.Node) {
	rows, caption, ok := parts(n)
	if !ok || len(rows) == 0 {
		w.children(n)
		return
	}
	if caption != nil {
		w.children(caption)
		w.flush()
	}
	if g := gridOf(w, rows); g.columns > 0 {
		w.block(g.String())
	}
}

// String is a table as Markdown has it. Rows may be shorter than the first.
func (g *grid) String() string {
	var b strings.Builder
	if !g.head {
		b.WriteString(strings.Repeat("|  ", g.columns) + "|\n")
		b.WriteString(strings.Repeat("|---", g.columns) + "|")
	}
	for i, cells := range g.rows {
		if i > 0 || !g.head {
			b.WriteByte('\n')
		}
		if i == 0 && g.head {
			cells = append(cells, make([]string, g.columns-len(cells))...)
		}
		for _, cell := range cells {
			b.WriteString("| " + cell + " ")
		}
		b.WriteByte('|')
		if i == 0 && g.head {
			b.WriteByte('\n')
			for _, align := range append(g.align, make([]string, g.columns-len(g.align))...) {
				b.WriteString("|" + rule(align))
			}
			b.WriteByte('|')
		}
	}
	return b.String()
}

func rule(align string) string {
	switch strings.ToLower(align) {
	case "left":
		return ":--"
	case "right":
		return "--:"
	case "center":
		return ":-:"
	}
	return "---"
}

// parts are the rows of a table and its caption; not ok where it is none of lines in cells.
func parts(table *markup.Node) (rows []*markup.Node, caption *markup.Node, ok bool) {
	if role, _ := table.Get("role"); role == "presentation" {
		return nil, nil, false
	}
	for n := table.After(table, true); n != nil; {
		if Skipped(n) {
			n = n.After(table, false)
			continue
		}
		switch n.Name {
		case "table", "ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "blockquote", "pre":
			return nil, nil, false
		case "tr":
			rows = append(rows, n)
		case "caption":
			if caption == nil {
				caption = n
			}
			n = n.After(table, false)
			continue
		}
		n = n.After(table, true)
	}
	return rows, caption, true
}

// grid are the cells of a table as they are written.
type grid struct {
	rows    [][]string
	align   []string
	columns int
	head    bool  // the first row says what the columns are
	below   []int // for each column: up to which row it is taken by a cell from above
	empty   int   // how many more cells may be there because others take their place
}

// mostEmpty is how many cells of a table others may take, besides some for each that is written: a page of few
// bytes could ask for very many.
const mostEmpty = 1000

func gridOf(w *writer, rows []*markup.Node) *grid {
	g := &grid{empty: mostEmpty}
	for at, row := range rows {
		var cells, align []string
		heads := false
		for c := row.First; c != nil; c = c.Next {
			if c.Name != "td" && c.Name != "th" || Skipped(c) {
				continue
			}
			for ; len(cells) < len(g.below) && g.below[len(cells)] > at && g.empty > 0; g.empty-- {
				cells, align = append(cells, ""), append(align, "")
			}
			heads = heads || c.Name == "th"
			side, _ := c.Get("align")
			begin := len(cells)
			cells, align = append(cells, w.oneLine(c)), append(align, side)
			g.empty += 4
			for i := span(c, "colspan"); i > 1 && g.empty > 0; i-- {
				cells, align, g.empty = append(cells, ""), append(align, ""), g.empty-1
			}
			g.take(begin, len(cells), at+span(c, "rowspan"))
		}
		if len(cells) == 0 {
			continue
		}
		if len(g.rows) == 0 {
			g.align, g.head = align, heads || row.Parent.Name == "thead"
		}
		g.rows, g.columns = append(g.rows, cells), max(g.columns, len(cells))
	}
	return g
}

// take notes that a cell stands in those columns down to a row.
func (g *grid) take(from, to, row int) {
	if more := to - len(g.below); more > 0 {
		g.below = append(g.below, make([]int, more)...)
	}
	for i := from; i < to; i++ {
		g.below[i] = row
	}
}

func span(n *markup.Node, key string) int {
	s, _ := n.Get(key)
	if many, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && many > 0 && many <= mostSpan {
		return many
	}
	return 1
}

// oneLine is the text of a cell.
func (w *writer) oneLine(n *markup.Node) string {
	w.one++
	w.cell = true
	w.children(n)
	w.one--
	w.cell = false
	return w.take()
}
