package syntax

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// goldmark is the library, with all that GitHub has.
var goldmark = parser.NewParser(
	parser.WithBlockParsers(append(parser.DefaultBlockParsers(), util.Prioritized(extension.NewFootnoteBlockParser(), 999))...),
	parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(extension.NewFootnoteParser(), 101),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999))...),
	parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0), util.Prioritized(extension.NewFootnoteASTTransformer(), 999)),
)

// listing is a tree as lines that two readers of the same text should agree on. Notes stand at its
// end: the library moves them.
type listing struct {
	src   []byte
	out   []string
	notes []string
	odd   bool // the library takes for a table what is none on GitHub: its first row has too few cells
	depth int
	begun bool
	at    int    // of a text that may go on
	value []byte // of it
}

func (l *listing) add(format string, args ...any) {
	l.flush()
	l.out = append(l.out, strings.Repeat(" ", l.depth)+fmt.Sprintf(format, args...))
}

// text adds a piece of text, which is one with what stands before it.
func (l *listing) text(from, to int) {
	if from >= to {
		return
	}
	if !l.begun {
		l.begun, l.at = true, from
	}
	l.value = append(l.value, l.src[from:to]...)
}

// flush ends a text. Of what is left of marks the library does not tell the place, and it leaves some
// spaces before the end of a line.
func (l *listing) flush() {
	if l.begun {
		at := fmt.Sprint(l.at)
		if bytes.IndexByte([]byte("*_~"), l.value[0]) >= 0 {
			at = ""
		}
		l.out = append(l.out, fmt.Sprintf("%stext %s %q", strings.Repeat(" ", l.depth), at, l.value))
	}
	l.begun, l.value = false, l.value[:0]
}

func (l *listing) lineEnd(kind string) {
	l.value = bytes.TrimRight(l.value, " \t\r")
	l.begun = len(l.value) > 0
	l.add("%s", kind)
}

func (l *listing) inside(walk func()) {
	l.flush()
	l.depth++
	walk()
	l.flush()
	l.depth--
}

// note lists a note apart.
func (l *listing) note(walk func()) {
	l.flush()
	out, depth := l.out, l.depth
	l.out, l.depth = nil, 0
	walk()
	l.flush()
	l.notes = append(l.notes, strings.Join(l.out, "\n"))
	l.out, l.depth = out, depth
}

func (l *listing) all() []string {
	l.flush()
	slices.Sort(l.notes)
	return append(l.out, l.notes...)
}

// ours is what this package makes of a text.
func ours(source []byte) []string {
	l := listing{src: source}
	l.children(Read(source, GitHub))
	return l.all()
}

func (l *listing) children(n *Node) {
	for c := n.First; c != nil; c = c.Next {
		l.node(c)
	}
}

func (l *listing) node(n *Node) {
	switch n.Kind {
	case Text:
		l.text(n.From, n.To)
		return
	case Heading:
		l.add("Heading %d", n.Level)
	case Code, HTML, RawHTML:
		l.add("%s %q", n.Kind, l.lines(n.Lines))
	case Fence:
		l.add("Fence %q %q", n.Target, l.lines(n.Lines))
	case List:
		l.add("List %c %d %v", n.Mark, n.Number, n.Tight)
	case Table:
		l.add("Table %v", n.Columns)
	case Cell:
		if n.First == nil {
			return
		}
		l.add("Cell")
	case Soft, Hard:
		if n.Parent.Kind == CodeSpan {
			l.add("Soft")
			return
		}
		l.lineEnd(n.Kind.String())
		return
	case Definition:
		l.add("Definition %q", n.Target) // its title is seen where it is used
	case Link, Image:
		l.add("%s %q %q", n.Kind, n.Target, joined(l.src, n.Lines))
	case Address:
		l.add("Address %s%s", n.Scheme(), l.src[n.From:n.To])
	case Box:
		l.add("Box %v", n.Done)
	case Note:
		l.note(func() {
			l.add("Note %s", n.Target)
			l.inside(func() { l.children(n) })
		})
		return
	default:
		l.add("%s", n.Kind)
	}
	l.inside(func() { l.children(n) })
}

func (l *listing) lines(lines []Line) string {
	w := writer{src: l.src}
	return solid(w.lines(&Node{Lines: lines}))
}

// theirs is what the library makes of a text.
func theirs(source []byte) (out []string, odd bool) {
	defer func() {
		if recover() != nil {
			odd = true // there are texts that bring the library down
		}
	}()
	l := listing{src: source}
	l.library(goldmark.Parse(text.NewReader(source)))
	return l.all(), l.odd
}

func (l *listing) library(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		l.libraryNode(c)
	}
}

func (l *listing) segments(s *text.Segments) string {
	var b strings.Builder
	for i := range s.Len() {
		at := s.At(i)
		b.WriteString(strings.Repeat(" ", at.Padding))
		b.Write(bytes.TrimRight(l.src[at.Start:at.Stop], "\r\n"))
		b.WriteByte('\n')
	}
	return solid(b.String())
}

// solid is a text whose empty lines are empty, and not at its end. Of spaces in the empty lines of code
// the standard does not say how many are taken off.
func solid(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if lines[i] = strings.TrimSuffix(l, "\r"); strings.Trim(l, " \t\r") == "" {
			lines[i] = ""
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (l *listing) libraryNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		l.libraryText(n)
		return
	case *extast.FootnoteList:
		l.library(n)
		return
	case *extast.FootnoteBacklink:
		return
	case *extast.Footnote:
		l.note(func() {
			l.add("Note %s", n.Ref)
			l.inside(func() { l.library(n) })
		})
		return
	case *extast.TableCell:
		l.odd = l.odd || n.Parent().Kind() == extast.KindTableHeader && n.Lines().Len() == 0
		if n.FirstChild() == nil {
			return
		}
	}
	l.add("%s", l.named(n))
	l.inside(func() { l.library(n) })
}

func (l *listing) libraryText(n *ast.Text) {
	from, to := n.Segment.Start, n.Segment.Stop
	if n.Parent().Kind() == ast.KindCodeSpan && to > from && l.src[to-1] == '\n' {
		to--
		if to > from && l.src[to-1] == '\r' {
			to--
		}
		l.text(from, to)
		l.add("Soft")
		return
	}
	l.text(from, to)
	switch {
	case n.HardLineBreak():
		l.lineEnd("Hard")
	case n.SoftLineBreak():
		l.lineEnd("Soft")
	}
}

// named is what a node of the library is here.
func (l *listing) named(n ast.Node) string {
	switch n := n.(type) {
	case *ast.TextBlock, *ast.Paragraph:
		return "Paragraph"
	case *ast.Heading:
		return fmt.Sprint("Heading ", n.Level)
	case *ast.CodeBlock:
		return fmt.Sprintf("Code %q", l.segments(n.Lines()))
	case *ast.FencedCodeBlock:
		info := []byte(nil)
		if n.Info != nil {
			info = n.Info.Segment.Value(l.src)
		}
		return fmt.Sprintf("Fence %q %q", info, l.segments(n.Lines()))
	case *ast.HTMLBlock:
		lines := n.Lines()
		if n.HasClosure() {
			lines.Append(n.ClosureLine)
		}
		return fmt.Sprintf("HTML %q", l.segments(lines))
	case *ast.RawHTML:
		return fmt.Sprintf("RawHTML %q", l.segments(n.Segments))
	case *ast.List:
		return fmt.Sprintf("List %c %d %v", n.Marker, n.Start, n.IsTight)
	case *ast.LinkReferenceDefinition:
		return fmt.Sprintf("Definition %q", n.Destination)
	case *ast.Link:
		return fmt.Sprintf("Link %q %q", n.Destination, n.Title)
	case *ast.Image:
		return fmt.Sprintf("Image %q %q", n.Destination, n.Title)
	case *ast.Emphasis:
		return [...]string{"Emphasis", "Strong"}[n.Level-1]
	case *ast.AutoLink:
		address := string(n.URL(l.src))
		if n.AutoLinkType == ast.AutoLinkEmail {
			address = "mailto:" + address
		}
		return "Address " + address
	case *extast.Table:
		return fmt.Sprint("Table ", aligned(n.Alignments))
	case *extast.TaskCheckBox:
		return fmt.Sprint("Box ", n.IsChecked)
	}
	return map[string]string{"Blockquote": "Quote", "ListItem": "Item", "TableHeader": "Row", "TableRow": "Row", "TableCell": "Cell", "ThematicBreak": "Rule",
		"CodeSpan": "CodeSpan", "Strikethrough": "Strike", "FootnoteLink": "NoteRef"}[n.Kind().String()]
}

func aligned(all []extast.Alignment) []Align {
	var out []Align
	for _, a := range all {
		out = append(out, map[extast.Alignment]Align{extast.AlignLeft: AlignLeft, extast.AlignCenter: AlignCenter, extast.AlignRight: AlignRight}[a])
	}
	return out
}

// differ shows the first line where both differ; "": nowhere.
func differ(source []byte) string {
	a := ours(source)
	b, odd := theirs(source)
	if odd {
		return ""
	}
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			from := max(i-3, 0)
			return fmt.Sprintf("ours:\n%s\ntheirs:\n%s", strings.Join(a[min(from, len(a)):min(i+5, len(a))], "\n"), strings.Join(b[min(from, len(b)):min(i+5, len(b))], "\n"))
		}
	}
	return ""
}
