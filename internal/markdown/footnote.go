package markdown

import (
	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// notesKey is where the notes of a page are while it is read: by their labels.
var notesKey = parser.NewContextKey()

func notesOf(pc parser.Context) map[string]*extension.Footnote {
	return pc.ComputeIfAbsent(notesKey, func() any { return map[string]*extension.Footnote{} }).(map[string]*extension.Footnote)
}

// label is what stands between "[^" and "]" at the start of a line, and how long all of it is.
func label(line []byte) (text []byte, length int, ok bool) {
	if len(line) < 2 || line[0] != '[' || line[1] != '^' {
		return nil, 0, false
	}
	for i := 2; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && util.IsPunct(line[i+1]):
			i++
		case c == '[':
			return nil, 0, false
		case c == ']':
			return line[2:i], i + 1, true
		}
	}
	return nil, 0, false
}

// notes reads footnotes: "[^label]:" and a text, which goes on in lines that are indented. They
// stay where they were written; those that nothing refers to are not shown.
type notes struct{}

func (notes) Trigger() []byte { return []byte{'['} }

func (notes) Open(_ ast.Node, r text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := r.PeekLine()
	at := pc.BlockOffset()
	if at < 0 {
		return nil, parser.NoChildren
	}
	name, length, ok := label(line[at:])
	if end := at + length; !ok || util.IsBlank(name) || end >= len(line) || line[end] != ':' {
		return nil, parser.NoChildren
	}
	note := extension.NewFootnote(name)
	if known := notesOf(pc); known[string(name)] == nil { // of several the first is shown
		known[string(name)] = note
	}
	text := at + length + 1 - segment.Padding
	if text >= len(line) { // it ends the page
		r.Advance(text)
		return note, parser.NoChildren
	}
	r.AdvanceAndSetPadding(text, segment.Padding)
	return note, parser.HasChildren
}

func (notes) Continue(_ ast.Node, r text.Reader, _ parser.Context) parser.State {
	line, _ := r.PeekLine()
	if !util.IsBlank(line) {
		at, padding := util.IndentPosition(line, r.LineOffset(), 4)
		if at < 0 {
			return parser.Close
		}
		r.AdvanceAndSetPadding(at, padding)
	}
	return parser.Continue | parser.HasChildren
}

func (notes) Close(ast.Node, text.Reader, parser.Context) {}

func (notes) CanInterruptParagraph() bool { return true }

func (notes) CanAcceptIndentedLine() bool { return false }

// references reads "[^label]" where there is a note of that label. Behind a "!" it is one too:
// there are no images of notes.
type references struct{}

func (references) Trigger() []byte { return []byte{'!', '['} }

func (references) Parse(parent ast.Node, r text.Reader, pc parser.Context) ast.Node {
	line, segment := r.PeekLine()
	mark := 0
	if line[0] == '!' {
		mark = 1
	}
	name, length, ok := label(line[mark:])
	if !ok {
		return nil
	}
	note := notesOf(pc)[string(name)]
	if note == nil {
		return nil
	}
	note.Index = 1 // something refers to it
	if mark > 0 {
		parent.AppendChild(parent, ast.NewTextSegment(segment.WithStop(segment.Start+mark)))
	}
	r.Advance(mark + length)
	return extension.NewFootnoteLink(note.Index)
}

// unused takes away the notes that nothing refers to.
type unused struct{}

func (unused) Transform(page *ast.Document, _ text.Reader, pc parser.Context) {
	var gone []ast.Node
	ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if note, ok := n.(*extension.Footnote); ok && entering && note.Index < 0 {
			gone = append(gone, note)
		}
		return ast.WalkContinue, nil
	})
	for _, note := range gone {
		note.Parent().RemoveChild(note.Parent(), note)
	}
}
