package pages

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"

	"ramet/internal/docs/markdown"
)

// with is the page with links under a heading, and what was added to it.
func (e *editor) with(heading, part string, pages []string) ([]byte, Insert, bool) {
	parsed, err := markdown.Parse(e.page)
	if err != nil {
		return nil, Insert{}, false
	}
	var lines []string
	bullet := "-"
	end := parsed.Lines() + 1
	at, found := under(parsed, 2, heading, 1, end)
	switch {
	case !found:
		lines = append(lines, "", "## "+heading)
		at.body = end
		if heading == contents {
			// Readers of the index want it before what the page says at length, but
			// behind the words that introduce it.
			at.body = afterIntroduction(parsed)
		}
		if part != "" {
			lines = append(lines, "", "### "+escape(part))
		}
		lines = append(lines, "")
	case part != "":
		whole := at.end
		if at, found = under(parsed, 3, part, at.line+1, whole); !found {
			lines = append(lines, "", "### "+escape(part), "")
			at.body = whole
		}
	}
	if len(lines) == 0 {
		if list, ok := at.last.(*ast.List); ok && !list.IsOrdered() {
			bullet = string(list.Marker)
		} else {
			lines = append(lines, "")
		}
	}
	for _, p := range pages {
		lines = append(lines, e.item(bullet, p))
	}
	after := at.body - 1
	for after > 0 && len(bytes.TrimSpace(parsed.Text(after))) == 0 {
		after--
	}
	if after == 0 && lines[0] == "" {
		lines = lines[1:]
	}
	if next := after + 1; next <= parsed.Lines() && len(bytes.TrimSpace(parsed.Text(next))) > 0 {
		lines = append(lines, "")
	}
	page, in := e.insert(parsed, after, lines)
	return page, in, true
}

// place is a part of a page below a heading.
type place struct {
	line int      // of the heading
	body int      // the line behind the last before the next heading
	end  int      // the line behind the last before the next heading that is not below it
	last ast.Node // its last block before the next heading
}

// under finds a heading at the top level of a page, between two lines.
func under(p *markdown.Page, level int, heading string, begin, end int) (at place, found bool) {
	want := strings.Join(strings.Fields(heading), " ")
	for _, h := range p.Headings() {
		switch {
		case h.Node.Parent() != p.Root || h.Line < begin || h.Line >= end:
		case !found && h.Level == level && strings.EqualFold(h.Text, want):
			found, at = true, place{line: h.Line, body: end, end: end}
			for n := h.Node.NextSibling(); n != nil && n.Kind() != ast.KindHeading; n = n.NextSibling() {
				at.last = n
			}
		case found && at.end == end:
			at.body = min(at.body, h.Line)
			if h.Level <= level {
				at.end = h.Line
			}
		}
	}
	return at, found
}

// afterIntroduction is the line of the first heading below the title, or the end.
func afterIntroduction(p *markdown.Page) int {
	for _, h := range p.Headings() {
		if h.Level > 1 && h.Node.Parent() == p.Root {
			return h.Line
		}
	}
	return p.Lines() + 1
}

// insert puts lines behind a line.
func (e *editor) insert(p *markdown.Page, after int, lines []string) ([]byte, Insert) {
	nl := newline(e.page)
	var out bytes.Buffer
	rest := e.page
	for range after {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			out.Write(rest)
			out.WriteString(nl)
			rest = nil
			break
		}
		out.Write(rest[:i+1])
		rest = rest[i+1:]
	}
	for _, l := range lines {
		out.WriteString(l + nl)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		out.Write(rest)
	}
	return out.Bytes(), Insert{Path: e.path, After: after, Count: len(lines)}
}
