package markdown

import (
	"slices"
	"strings"
)

// mostColumns of a table; more than that is text.
const mostColumns = 40

// beginTable makes a table of the paragraph's last line, if this is the line under
// its head.
func (m *machine) beginTable(body string) bool {
	if !strings.Contains(body, "-") || strings.Trim(body, "|-: \t") != "" || !strings.Contains(body, "|") {
		return false
	}
	var align []byte
	for _, c := range cells(body) {
		left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
		if strings.Trim(c, ":") == "" || strings.Trim(strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":"), "-") != "" {
			return false
		}
		switch {
		case left && right:
			align = append(align, 'c')
		case right:
			align = append(align, 'r')
		default:
			align = append(align, 'l')
		}
	}
	last := len(m.leaf.lines) - 1
	if last < 0 {
		return false
	}
	head := cells(m.leaf.lines[last])
	if len(head) != len(align) || len(head) > mostColumns {
		return false
	}
	m.showText(m.leaf.lines[:last])
	m.leaf = leaf{kind: table, rows: [][]string{head}, align: align}
	return true
}

// tableLine takes a row. Once too many wait, the columns are fixed and rows are
// shown as they come.
func (m *machine) tableLine(body string) {
	texts := cells(body)
	texts = texts[:min(len(texts), len(m.leaf.align))]
	for len(texts) < len(m.leaf.align) {
		texts = append(texts, "")
	}
	if m.leaf.widths != nil {
		m.showRow(texts, false)
		return
	}
	m.leaf.rows = append(m.leaf.rows, texts)
	if m.leaf.size += len(body) + 1; m.leaf.size >= longest {
		m.showTable()
		m.leaf.rows = nil
	}
}

// showTable shows what waited and fixes the columns.
func (m *machine) showTable() {
	m.space()
	m.leaf.widths = m.columns()
	for i, texts := range m.leaf.rows {
		m.showRow(texts, i == 0)
		if i > 0 || len(m.leaf.widths) == 0 {
			continue
		}
		m.put(underline(m.leaf.widths, m.theme), false)
	}
}

// underline is the line under the head.
func underline(widths []int, theme Theme) []row {
	var r row
	for i, w := range widths {
		if i > 0 {
			r.add("─┼─", theme.TableLine, 3)
		}
		r.add(strings.Repeat("─", w), theme.TableLine, w)
	}
	return []row{r}
}

// columns gives each column its width: what it wants, else what there is, taken
// from the widest first. None fit where not even the narrowest would.
func (m *machine) columns() []int {
	const narrowest = 4
	widths := make([]int, len(m.leaf.align))
	for i, cells := range m.leaf.rows {
		for c, text := range cells {
			for _, r := range wrap(m.cell(text, i == 0), 1<<20) {
				widths[c] = max(widths[c], r.width, 1)
			}
		}
	}
	room := m.room() - 3*(len(widths)-1)
	total := 0
	for _, w := range widths {
		total += w
	}
	for total > room {
		widest := slices.Max(widths)
		if widest <= narrowest {
			return []int{}
		}
		// Bring all of the widest down to the next, or to what is needed.
		second, n := narrowest, 0
		for _, w := range widths {
			if w == widest {
				n++
			} else {
				second = max(second, w)
			}
		}
		step := min(widest-second, max(1, (total-room+n-1)/n))
		for i := range widths {
			if widths[i] == widest && total > room {
				cut := min(step, total-room)
				widths[i] -= cut
				total -= cut
			}
		}
	}
	return widths
}

func (m *machine) cell(text string, head bool) []span {
	if head {
		return inline(text, m.theme.TableHead, m.theme)
	}
	return inline(text, "", m.theme)
}

func (m *machine) showRow(texts []string, head bool) {
	widths := m.leaf.widths
	if len(widths) == 0 { // too narrow: one cell after the other
		for i, text := range texts {
			if spans := m.cell(text, head); len(spans) > 0 {
				if i > 0 {
					spans = append([]span{{"| ", m.theme.TableLine}}, spans...)
				}
				m.put(wrap(spans, m.room()), false)
			}
		}
		return
	}
	columns := make([][]row, len(texts))
	height := 1
	for i, text := range texts {
		columns[i] = wrap(m.cell(text, head), widths[i])
		height = max(height, len(columns[i]))
	}
	rows := make([]row, height)
	for y := range rows {
		for i, column := range columns {
			if i > 0 {
				rows[y].add(" │ ", m.theme.TableLine, 3)
			}
			var content row
			if y < len(column) {
				content = column[y]
			}
			free := widths[i] - content.width
			left := 0
			switch m.leaf.align[i] {
			case 'r':
				left = free
			case 'c':
				left = free / 2
			}
			if i < len(columns)-1 || content.width > 0 {
				rows[y].add(strings.Repeat(" ", left), "", left)
			}
			rows[y].join(content)
			if i < len(columns)-1 {
				rows[y].add(strings.Repeat(" ", free-left), "", free-left)
			}
		}
	}
	m.put(rows, false)
}

// cells splits a line of a table at its bars; \| is a bar in a cell.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var all []string
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '\\' && i+1 < len(line) && line[i+1] == '|':
			b.WriteByte('|')
			i++
		case line[i] == '|':
			all = append(all, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(line[i])
		}
	}
	if last := strings.TrimSpace(b.String()); last != "" || len(all) == 0 {
		all = append(all, last)
	}
	return all
}
