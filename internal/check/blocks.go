package check

import (
	"fmt"
	"strings"

	"ramet/internal/late"
	"ramet/internal/markdown/syntax"
)

var delimiter = late.Regexp(`^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$|^[ \t>]*\|[ \t]*:?-+:?[ \t]*\|[ \t]*$`)

// blocks looks at code and tables.
func (l looker) blocks() {
	l.walk(func(n *syntax.Node) {
		switch n.Kind {
		case syntax.Fence:
			l.fence(n)
		case syntax.Table:
			l.table(n)
		case syntax.Paragraph:
			l.brokenTable(n)
		}
	})
}

// columns counts the cells of a row as Markdown does: a bar counts unless a backslash
// stands before it, in code too.
func columns(line string) int {
	line = strings.Trim(strings.TrimLeft(line, " \t>"), " \t")
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	n := 1
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			n++
		}
	}
	return n
}

func (l looker) table(t *syntax.Node) {
	for row := t.First; row != nil; row = row.Next {
		if row.First == nil {
			continue
		}
		line := l.page.LineOf(row)
		text := string(l.page.Text(line))
		// In a list the mark of the item stands before the first row.
		if bar := strings.Index(text, "|"); bar > 0 && listMark.Get().MatchString(text[:bar]) {
			text = text[bar:]
		}
		if got := columns(text); got != len(t.Columns) {
			l.add(Error, "MD_TABLE_COLUMNS", line, fmt.Sprintf("a row has %d cells and the table %d columns: give all rows as many, and write \\| for a bar in a cell: %.80s", got, len(t.Columns), strings.TrimSpace(text)), "")
		}
	}
}

var listMark = late.Regexp(`^[ \t>]*(?:[-*+]|[0-9]+[.)])[ \t]+$`)

// brokenTable finds what was meant as a table and is none.
func (l looker) brokenTable(p *syntax.Node) {
	for i := 1; i < len(p.Lines); i++ {
		s := p.Lines[i]
		if delimiter.Get().Match(l.page.Source[s.From:s.To]) {
			l.add(Error, "MD_TABLE_COLUMNS", l.page.Line(s.From), "a table is not shown as one, since its first two rows differ in their number of columns: give both as many", "")
			return
		}
	}
}

// fence looks at whether code ends where it should.
func (l looker) fence(n *syntax.Node) {
	if !n.Done {
		l.add(Error, "MD_FENCE_OPEN", l.page.LineOf(n), "a code block is not closed: end it with a line of the same fence", "")
	}
}
