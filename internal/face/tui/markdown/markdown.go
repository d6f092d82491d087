// Package markdown turns Markdown into the lines of a terminal.
//
// It promises:
//
//   - No line is wider than asked for, in cells, if that is at least 2, whatever the text.
//   - A line holds text and the color codes (SGR) of the theme, nothing else that
//     a terminal would obey: the source is made safe before it is parsed, and what
//     character references (&#27;) make of it is made safe again.
//   - Text keeps its logical order and its grapheme clusters whole.
//   - A text that would keep the parser busy for long is shown as it is written.
//
// HTML is shown as text.
package markdown

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"ramet/internal/base/markdown"
	"ramet/internal/base/text"
)

var documents = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(markdown.NewCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(extension.NewTableParagraphTransformer(), 200),
		),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
})

// limits keep the parser below a fifth of a second.
var limits = markdown.Limits{Marks: 8_000, Depth: 100, Cells: 50_000, Work: 3 * 8_000 * 8_000}

// Render lays a text out in lines of at most width cells.
func Render(src string, width int, theme Theme) []string {
	src = text.Safe(strings.ReplaceAll(src, "\r\n", "\n"))
	p := page{src: []byte(src), theme: theme, width: max(width, 2)}
	if limits.Check(p.src) != nil {
		return Wrap(expandTabs(src), p.width, " ")
	}
	p.children(documents().Parse(source.NewReader(p.src)))
	return p.out
}
