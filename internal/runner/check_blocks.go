package runner

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"

	"ramet/internal/base/markdown"
	"ramet/internal/base/text"
)

var delimiter = text.Regexp(`^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$|^[ \t>]*\|[ \t]*:?-+:?[ \t]*\|[ \t]*$`)

// blocks looks at code and tables.
func (l pageChecker) blocks() {
	l.walk(func(n ast.Node) {
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			l.fence(n)
		case *extension.Table:
			l.table(n)
		case *ast.Paragraph:
			l.brokenTable(n)
		}
	})
}

// countColumns counts the cells of a row as Markdown does: a bar counts unless a backslash
// comes before it, in code too.
func countColumns(line string) int {
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

func (l pageChecker) table(t *extension.Table) {
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		line := 0
		for c := row.FirstChild(); c != nil && line == 0; c = c.NextSibling() {
			if c.Lines() != nil && c.Lines().Len() > 0 {
				line = l.page.Line(c.Lines().At(0).Start)
			}
		}
		if line == 0 {
			continue
		}
		text := string(l.page.Text(line))
		// In a list the mark of the item comes before the first row.
		if bar := strings.Index(text, "|"); bar > 0 && listMark().MatchString(text[:bar]) {
			text = text[bar:]
		}
		if got := countColumns(text); got != len(t.Alignments) {
			l.add(Error, "MD_TABLE_COLUMNS", line, fmt.Sprintf("a row has %d cells and the table %d columns: give all rows as many, and write \\| for a bar in a cell: %.80s", got, len(t.Alignments), strings.TrimSpace(text)), "")
		}
	}
}

var listMark = text.Regexp(`^[ \t>]*(?:[-*+]|[0-9]+[.)])[ \t]+$`)

// brokenTable finds what was meant as a table and is none.
func (l pageChecker) brokenTable(p *ast.Paragraph) {
	for i := 1; i < p.Lines().Len(); i++ {
		s := p.Lines().At(i)
		text := strings.TrimRight(string(s.Value(l.page.Source)), "\r\n")
		if delimiter().MatchString(text) {
			l.add(Error, "MD_TABLE_COLUMNS", l.page.Line(s.Start), "a table is not shown as one, since its first two rows differ in their number of columns: give both as many", "")
			return
		}
	}
}

// fence looks at whether code ends where it should.
func (l pageChecker) fence(n *ast.FencedCodeBlock) {
	if !markdown.IsClosed(n) {
		l.add(Error, "MD_FENCE_OPEN", l.page.LineOf(n), "a code block is not closed: end it with a line of the same fence", "")
	}
}
