package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// tables makes tables of paragraphs: a row, a row of dashes with as many cells, further rows.
// What stands before the first row stays a paragraph.
type tables struct{}

func (tables) Transform(p *ast.Paragraph, r text.Reader, _ parser.Context) {
	lines, source := p.Lines(), r.Source()
	for i := 1; i < lines.Len(); i++ {
		line := lines.At(i)
		columns := dashes(line.Value(source))
		if columns == nil {
			continue
		}
		head := cells(lines.At(i-1), source)
		if len(head) != len(columns) {
			return
		}
		t := extension.NewTable()
		t.Alignments = columns
		t.AppendChild(t, extension.NewTableHeader(rowOf(head, columns)))
		for j := i + 1; j < lines.Len(); j++ {
			t.AppendChild(t, rowOf(cells(lines.At(j), source), columns))
		}
		replaceTail(p, i-1, t)
		return
	}
}

// replaceTail leaves the first lines of a paragraph in it, and puts t in place of the others.
func replaceTail(p *ast.Paragraph, lines int, t ast.Node) {
	parent := p.Parent()
	parent.InsertAfter(parent, p, t)
	if lines == 0 {
		parent.RemoveChild(parent, p)
		return
	}
	p.Lines().SetSliced(0, lines)
	last := p.Lines().At(lines - 1)
	last.Stop-- // the end of the line, which no paragraph ends with
	p.Lines().Set(lines-1, last)
}

// dashes are the columns that a row of dashes makes; nil: it is none.
func dashes(line []byte) []extension.Alignment {
	if indent, _ := util.IndentWidth(line, 0); indent > 3 {
		return nil
	}
	line = util.TrimRightSpace(util.TrimLeftSpace(line))
	if !bytes.ContainsAny(line, "|:") { // which underlines a heading
		return nil
	}
	line = bytes.TrimPrefix(line, []byte("|"))
	line = bytes.TrimSuffix(line, []byte("|"))
	var out []extension.Alignment
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		cell = util.TrimRightSpace(util.TrimLeftSpace(cell))
		bare := bytes.TrimSuffix(bytes.TrimPrefix(cell, []byte(":")), []byte(":"))
		if len(bare) == 0 || len(bytes.Trim(bare, "-")) > 0 {
			return nil
		}
		out = append(out, alignment(cell[0] == ':', cell[len(cell)-1] == ':'))
	}
	return out
}

func alignment(left, right bool) extension.Alignment {
	switch {
	case left && right:
		return extension.AlignCenter
	case left:
		return extension.AlignLeft
	case right:
		return extension.AlignRight
	}
	return extension.AlignNone
}

// cells are the places of a row's cells, without the space around them. A bar ends one unless a
// backslash stands before it, in code too.
func cells(row text.Segment, source []byte) []text.Segment {
	row = trimmed(row, source)
	line := source[row.Start:row.Stop]
	from, end := 0, len(line)
	if bytes.HasPrefix(line, []byte("|")) {
		from++
	}
	if end > from && line[end-1] == '|' {
		end--
	}
	var out []text.Segment
	for from < end {
		to := from
		for to < end && (line[to] != '|' || to > 0 && line[to-1] == '\\') {
			to++
		}
		out = append(out, trimmed(text.NewSegment(row.Start+from, row.Start+to), source))
		from = to + 1
	}
	return out
}

func trimmed(s text.Segment, source []byte) text.Segment {
	s = s.TrimLeftSpace(source)
	return s.TrimRightSpace(source)
}

// rowOf is a row of as many cells as there are columns: what it lacks is empty, what it has too
// many is not shown.
func rowOf(cells []text.Segment, columns []extension.Alignment) *extension.TableRow {
	row := extension.NewTableRow(columns)
	for i, alignment := range columns {
		c := extension.NewTableCell()
		if i < len(cells) {
			c.Alignment = alignment
			c.Lines().Append(cells[i])
		}
		row.AppendChild(row, c)
	}
	return row
}

// bars takes the backslashes from bars in code that stands in tables, where code needs them.
type bars struct{}

func (bars) Transform(page *ast.Document, r text.Reader, _ parser.Context) {
	ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		code, ok := n.(*ast.CodeSpan)
		if !ok || !entering || !inCell(code) {
			return ast.WalkContinue, nil
		}
		for c := code.FirstChild(); c != nil; {
			next := c.NextSibling()
			if t, ok := c.(*ast.Text); ok {
				withoutBackslashes(code, t, r.Source())
			}
			c = next
		}
		return ast.WalkSkipChildren, nil
	})
}

func inCell(n ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if n.Kind() == extension.KindTableCell {
			return true
		}
	}
	return false
}

// withoutBackslashes puts pieces in place of a text, which leave out each backslash before a bar.
func withoutBackslashes(code *ast.CodeSpan, t *ast.Text, source []byte) {
	rest := t.Segment
	for {
		at := bytes.Index(rest.Value(source), []byte(`\|`))
		if at < 0 {
			break
		}
		code.InsertBefore(code, t, ast.NewRawTextSegment(rest.WithStop(rest.Start+at)))
		rest = rest.WithStart(rest.Start + at + 1)
	}
	t.Segment = rest
}
