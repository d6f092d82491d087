package fetch

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// convertToMarkdown renders a cleaned tree. Links are resolved against address.
func convertToMarkdown(n *html.Node, address string) (string, error) {
	made := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithNewlineBehavior(table.NewlineBehaviorPreserve), table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
		plugin{}))
	out, err := made.ConvertNode(n, converter.WithDomain(address))
	return string(out), err
}

// plugin corrects the library where its Markdown would be read differently: code with a bar in a table cell, and code
// blocks in blockquotes.
type plugin struct{}

// cellBar replaces a bar in the code of a table cell until it is known whether the cell is rendered in a table.
const cellBar = "\uF8F5"

// inRow is the key of the context value that is set where a table is rendered as plain rows.
type inRow struct{}

func (plugin) Name() string { return "fetch" }

func (plugin) Init(c *converter.Converter) error {
	c.Register.RendererFor("tr", converter.TagTypeBlock, renderPlainRow, converter.PriorityEarly)
	c.Register.Renderer(renderCell, converter.PriorityEarly)
	c.Register.RendererFor("blockquote", converter.TagTypeBlock, renderBlockquote, converter.PriorityEarly)
	for _, tag := range []string{"summary", "select"} {
		c.Register.RendererFor(tag, converter.TagTypeBlock, base.RenderAsPlaintextWrapper, converter.PriorityEarly)
	}
	c.Register.PostRenderer(func(_ converter.Context, out []byte) []byte {
		return bytes.ReplaceAll(out, []byte(cellBar), []byte("|"))
	}, converter.PriorityLate)
	return nil
}

// renderPlainRow is called for rows of tables that cannot be written as Markdown tables.
func renderPlainRow(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	w.WriteString("\n\n")
	ctx.RenderChildNodes(ctx.WithValue(inRow{}, true), w, n)
	w.WriteString("\n\n")
	return converter.RenderSuccess
}

func renderCell(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
		return converter.RenderTryNext
	}
	var cell bytes.Buffer
	ctx.RenderChildNodes(ctx, &cell, n)
	if ctx.Value(inRow{}) != nil {
		w.WriteString(cell.String() + " ")
	} else {
		w.WriteString(strings.ReplaceAll(cell.String(), cellBar, `\|`))
	}
	return converter.RenderSuccess
}

// renderBlockquote prefixes all lines, those of code blocks included.
func renderBlockquote(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	var quote bytes.Buffer
	ctx.RenderChildNodes(ctx, &quote, n)
	out := bytes.TrimSpace(quote.Bytes())
	for bytes.Contains(out, []byte("\n\n\n")) {
		out = bytes.ReplaceAll(out, []byte("\n\n\n"), []byte("\n\n"))
	}
	out = bytes.ReplaceAll(out, []byte("\n"), []byte("\n> "))
	codeLine := marker.BytesMarkerCodeBlockNewline
	out = bytes.ReplaceAll(out, codeLine, append(slices.Clone(codeLine), "> "...))
	if len(out) > 0 {
		w.WriteString("\n\n> " + string(out) + "\n\n")
	}
	return converter.RenderSuccess
}

// The converter's time grows with the product of these; deeper lists are paragraphs, and larger tables plain rows.
const (
	maxNesting = 16
	maxSpan    = 64
	maxCells   = 100_000
)

// cleanTree removes what is hidden from people or surrounds the text on every page of a site, and rewrites elements
// that the converter would render badly. Nesting counts the lists, quotes and tables around n.
func cleanTree(n *html.Node, nesting int) {
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote, atom.Table:
		nesting++
	}
	if nesting > maxNesting && n.Type == html.ElementNode && isStructure(n.DataAtom) {
		n.Data, n.DataAtom = "div", atom.Div
	}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || isHidden(c) {
			n.RemoveChild(c)
		} else {
			cleanTree(c, nesting)
			rewriteElement(c)
		}
		c = next
	}
}

func isStructure(tag atom.Atom) bool {
	switch tag {
	case atom.Ul, atom.Ol, atom.Li, atom.Blockquote, atom.Table, atom.Caption, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th:
		return true
	}
	return false
}

func isHidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Svg, atom.Form, atom.Template, atom.Button, atom.Footer, atom.Script, atom.Style, atom.Noscript, atom.Iframe:
		return true
	}
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
		style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
		return a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" ||
			a.Key == "style" && (strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden"))
	})
}

func rewriteElement(n *html.Node) {
	for i := range n.Attr {
		a := &n.Attr[i]
		switch a.Key {
		case "src", "href": // of data only the media type is of use
			if len(a.Val) > 5 && strings.EqualFold(a.Val[:5], "data:") {
				a.Val, _, _ = strings.Cut(a.Val, ",")
				a.Val, _, _ = strings.Cut(a.Val, ";")
			}
		case "colspan", "rowspan":
			if span, err := strconv.Atoi(a.Val); err != nil || span > maxSpan {
				a.Val = "1"
			}
		case "start": // each line of an item is indented by the width of its number
			if len(a.Val) > 4 {
				a.Val = "1"
			}
		}
	}
	switch n.DataAtom {
	case atom.A:
		if attributeOf(n, "href") == "" { // a name is not a link
			n.Data, n.DataAtom = "span", atom.Span
		}
	case atom.Caption: // before the table, not after it
		if table := n.Parent; table.Parent != nil && table.DataAtom == atom.Table {
			table.RemoveChild(n)
			n.Data, n.DataAtom = "p", atom.P
			table.Parent.InsertBefore(n, table)
		}
	case atom.Table:
		if countCells(n) > maxCells {
			setPresentation(n)
		}
	case atom.Td, atom.Th:
		rewriteCell(n)
	case atom.Option:
		n.AppendChild(&html.Node{Type: html.TextNode, Data: " "})
	}
}

// rewriteCell prepares code in a table cell. A table with a code block of several lines is not a Markdown table.
func rewriteCell(cell *html.Node) {
	for n := range cell.Descendants() {
		switch n.DataAtom {
		case atom.Pre:
			if strings.Contains(strings.TrimSpace(textOf(n)), "\n") {
				for p := range cell.Ancestors() {
					if p.DataAtom == atom.Table {
						setPresentation(p)
						return
					}
				}
			}
			n.Data, n.DataAtom = "code", atom.Code
			fallthrough
		case atom.Code, atom.Kbd, atom.Samp, atom.Tt, atom.Var:
			for t := range n.Descendants() {
				if t.Type == html.TextNode {
					t.Data = strings.ReplaceAll(t.Data, "|", cellBar)
				}
			}
		}
	}
}

func setPresentation(table *html.Node) {
	table.Attr = []html.Attribute{{Key: "role", Val: "presentation"}}
}

// countCells returns the number of cells that the converter makes for a table, with those that others span.
func countCells(table *html.Node) int {
	rows, columns, most, spanned := 0, 0, 0, 0
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Tr:
			rows, columns = rows+1, 0
		case atom.Td, atom.Th:
			wide, _ := strconv.Atoi(attributeOf(n, "colspan"))
			high, _ := strconv.Atoi(attributeOf(n, "rowspan"))
			columns += max(wide, 1)
			most = max(most, columns)
			spanned += max(wide, 1) * max(high, 1)
		}
	}
	return max(rows*most, spanned)
}

func textOf(root *html.Node) string {
	var out strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			out.WriteString(n.Data)
		}
	}
	return out.String()
}
