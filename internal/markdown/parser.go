package markdown

import (
	"sync"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The names of the attributes under which nodes know where they are, and fences that
// they were closed.
const (
	placeName  = "ramet-place"
	closedName = "ramet-closed"
)

// grammar is what pages are written in. The parts that GitHub has besides those of CommonMark are our
// own: the library's stand in a package whose expressions would cost every start of the program a
// tenth of its time.
var grammar = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			block(parser.NewSetextHeadingParser(), 100),
			block(parser.NewThematicBreakParser(), 200),
			block(parser.NewListParser(), 300),
			block(parser.NewListItemParser(), 400),
			block(parser.NewCodeBlockParser(), 500),
			block(parser.NewATXHeadingParser(), 600),
			util.Prioritized(fence{parser.NewFencedCodeBlockParser()}, 700),
			block(parser.NewBlockquoteParser(), 800),
			block(parser.NewHTMLBlockParser(), 900),
			block(notes{}, 999),
			block(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			inline(boxes{}, 0),
			inline(parser.NewCodeSpanParser(), 100),
			inline(references{}, 101),
			inline(parser.NewLinkParser(), 200),
			inline(parser.NewAutoLinkParser(), 300),
			inline(parser.NewRawHTMLParser(), 400),
			inline(parser.NewEmphasisParser(), 500),
			inline(strikes{}, 500),
			inline(addresses{}, 999),
		),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(tables{}, 200))...),
		parser.WithASTTransformers(
			util.Prioritized(bars{}, 0),
			util.Prioritized(unused{}, 999),
		),
	)
})

// placed is a block parser whose nodes know where they begin.
type placed struct{ parser.BlockParser }

func block(p parser.BlockParser, priority int) util.PrioritizedValue {
	return util.Prioritized(placed{p}, priority)
}

func (p placed) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	_, at := r.PeekLine()
	n, state := p.BlockParser.Open(parent, r, pc)
	if n != nil {
		n.SetAttributeString(placeName, at.Start)
	}
	return n, state
}

// fence is the parser of fenced code, whose nodes know besides whether they were closed.
type fence struct{ parser.BlockParser }

func (f fence) Open(parent ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	return placed(f).Open(parent, r, pc)
}

func (f fence) Continue(n ast.Node, r text.Reader, pc parser.Context) parser.State {
	state := f.BlockParser.Continue(n, r, pc)
	if state == parser.Close {
		n.SetAttributeString(closedName, true)
	}
	return state
}

// Closed says whether fenced code ends with a fence, and not with what is around it.
func Closed(n *ast.FencedCodeBlock) bool {
	_, ok := n.AttributeString(closedName)
	return ok
}

// noted is an inline parser whose nodes know where they were found.
type noted struct{ parser.InlineParser }

func inline(p parser.InlineParser, priority int) util.PrioritizedValue {
	if c, ok := p.(parser.CloseBlocker); ok {
		return util.Prioritized(closing{noted{p}, c}, priority)
	}
	return util.Prioritized(noted{p}, priority)
}

func (p noted) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	_, at := r.PeekLine()
	n := p.InlineParser.Parse(parent, r, pc)
	if n != nil {
		n.SetAttributeString(placeName, at.Start)
	}
	return n
}

type closing struct {
	noted
	parser.CloseBlocker
}

// boxes reads check boxes, which items of lists begin with. GitHub wants a space behind one: "- [x](y)"
// is a link.
type boxes struct{}

func (boxes) Trigger() []byte { return []byte{'['} }

func (boxes) Parse(parent ast.Node, r text.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := r.PeekLine()
	if len(line) < 3 || line[2] != ']' || len(line) > 3 && !util.IsSpace(line[3]) {
		return nil
	}
	checked := line[1] == 'x' || line[1] == 'X'
	if !checked && !util.IsSpace(line[1]) {
		return nil
	}
	r.Advance(3 + util.TrimLeftSpaceLength(line[3:]))
	return extension.NewTaskCheckBox(checked)
}
