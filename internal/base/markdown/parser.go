package markdown

import (
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// gitHub returns the parser of what GitHub shows.
var gitHub = sync.OnceValue(func() parser.Parser {
	return goldmark.New(
		goldmark.WithExtensions(extension.Linkify, extension.Table, extension.Strikethrough, extension.Footnote),
		goldmark.WithParserOptions(
			parser.WithBlockParsers(util.Prioritized(fenceParser{parser.NewFencedCodeBlockParser()}, 699)), // before the library's own, at 700
			parser.WithInlineParsers(util.Prioritized(NewCheckBoxParser(), 0)),
		)).Parser()
})

const closedAttribute = "ramet-closed"

// fenceParser records whether a fenced code block was closed.
type fenceParser struct{ parser.BlockParser }

func (f fenceParser) Continue(n ast.Node, r text.Reader, pc parser.Context) parser.State {
	state := f.BlockParser.Continue(n, r, pc)
	if state == parser.Close {
		n.SetAttributeString(closedAttribute, true)
	}
	return state
}

// IsClosed reports whether a code block ends with a fence, and not with the block around it or the page.
func IsClosed(n *ast.FencedCodeBlock) bool {
	_, ok := n.AttributeString(closedAttribute)
	return ok
}

// NewCheckBoxParser returns the parser of check boxes in lists.
func NewCheckBoxParser() parser.InlineParser {
	return checkBoxParser{extension.NewTaskCheckBoxParser()}
}

// checkBoxParser wants a space after a check box, as GitHub does: "- [x](y)" is a link.
type checkBoxParser struct{ parser.InlineParser }

func (c checkBoxParser) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	if line, _ := r.PeekLine(); len(line) > 3 && !util.IsSpace(line[3]) {
		return nil
	}
	return c.InlineParser.Parse(parent, r, pc)
}
