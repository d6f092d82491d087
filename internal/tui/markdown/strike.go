package markdown

import (
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
)

// strikeParser reads ~~text~~. Goldmark has one, in a package whose regular
// expressions would cost every start of the program half a millisecond.
type strikeParser struct{}

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (p strikeParser) Parse(_ ast.Node, block source.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 2, p)
	if node == nil || node.OriginalLength != 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

func (strikeParser) IsDelimiter(b byte) bool { return b == '~' }

func (strikeParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (strikeParser) OnMatch(int) ast.Node { return extast.NewStrikethrough() }
