package markdown

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// library reads pages with the library's own parts in place of ours.
var library = parser.NewParser(
	parser.WithBlockParsers(append(parser.DefaultBlockParsers(), util.Prioritized(extension.NewFootnoteBlockParser(), 999))...),
	parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(extension.NewFootnoteParser(), 101),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999))...),
	parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(extension.NewTableParagraphTransformer(), 200))...),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0), util.Prioritized(extension.NewFootnoteASTTransformer(), 999)),
)

// parts are what a page consists of, in the order of their kinds and places: the library moves notes
// to the end of the page.
func parts(root ast.Node, source []byte) []string {
	var out []string
	ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		s := n.Kind().String()
		switch n := n.(type) {
		case *extast.FootnoteList, *extast.FootnoteBacklink:
			return ast.WalkContinue, nil
		case *ast.Text:
			if n.Segment.Len() == 0 && !n.SoftLineBreak() && !n.HardLineBreak() {
				return ast.WalkContinue, nil
			}
			s += fmt.Sprint(n.Segment.Start, "-", n.Segment.Stop, n.SoftLineBreak(), n.HardLineBreak(), n.IsRaw())
		case *ast.AutoLink:
			s += fmt.Sprintf("%d %s %s", n.AutoLinkType, n.URL(source), n.Label(source))
		case *ast.Link:
			s += string(n.Destination)
		case *extast.Table:
			s += fmt.Sprint(n.Alignments, n.ChildCount())
		case *extast.TableCell:
			s += n.Alignment.String()
		case *extast.TaskCheckBox:
			s += fmt.Sprint(n.IsChecked)
		case *extast.Footnote:
			s += string(n.Ref)
		}
		if n.Type() == ast.TypeBlock && n.Kind() != ast.KindDocument {
			for i := range n.Lines().Len() {
				l := n.Lines().At(i)
				s += fmt.Sprint(" ", l.Start, "-", l.Stop)
			}
		}
		if p := n.Parent(); p != nil && n.Kind() != extast.KindFootnote {
			s += " in " + p.Kind().String()
		}
		out = append(out, s)
		return ast.WalkContinue, nil
	})
	slices.Sort(out)
	return out
}

func read(p parser.Parser, source []byte) (out []string) {
	defer func() {
		if r := recover(); r != nil { // which Parse tells
			out = []string{fmt.Sprint(r)}
		}
	}()
	return parts(p.Parse(text.NewReader(source)), source)
}

// differ says where ours reads a page otherwise than the library.
func differ(source []byte) string {
	ours, theirs := read(grammar(), source), read(library, source)
	if slices.Equal(ours, theirs) || slices.Contains(theirs, "TableCellnone in TableHeader") {
		return "" // in the library a first row may have too few cells, which is no table on GitHub
	}
	var out []string
	for _, s := range ours {
		if !slices.Contains(theirs, s) {
			out = append(out, "ours: "+s)
		}
	}
	for _, s := range theirs {
		if !slices.Contains(ours, s) {
			out = append(out, "theirs: "+s)
		}
	}
	return strings.Join(append(out, fmt.Sprint(len(ours), " and ", len(theirs))), "\n")
}

// What is no part of CommonMark is read as the library reads it: on pages of our own, and on ones
// that are put together from what such parts are made of.
func TestOurPartsReadWhatTheLibrarysDo(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range append(pages, "../../README.md", "../../CHANGELOG.md") {
		source, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if s := differ(source); s != "" {
			t.Errorf("%s:\n%s", page, s)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if s := differ([]byte(b.String())); s != "" {
			t.Fatalf("%q:\n%s", b.String(), s)
		}
	}
}

// pieces are what pages are put together from. Left out is where ours differs and is right: boxes
// without a space behind them, a "$" behind "www.", and notes within notes.
var pieces = []string{"|", "\\|", "a", "b c", "`", "``", "\n", "\n", "\n\n", "---", ":--", "--:", "|---|---|\n", "| a | b |\n", "~", "~~", "[^1]", "\n[^1]: a ", "[^b]", "\n[^b]: a ",
	"!", "[", "](x)", "- ", "- [ ] ", "- [x] ", "> ", "    ", "  ", "\t", "http://", "https://a.bc", "www.a.b", "ftp://x.y", ".", "com", ":80", "/p(q)", ")", "(", "&amp;", ";",
	"?q=1", "#f", "me@x.org", "@", "_", "*", "**", "é", "<b>", "# ", "1. ", ",", "-"}

// Where the library's parts are not GitHub's, and where ours were made to differ.
func TestOurPartsAreGitHubs(t *testing.T) {
	for source, want := range map[string]string{
		"- [x](y)":                          "Link", // and no box
		"- [x] y":                           "TaskCheckBox",
		"| a |\n|---|---|\n| b | c |\n":     "", // a row whose cells are too few begins no table
		"x\n| a | b |\n|---|---|\n":         "Table",
		"[^1]: nobody refers to it\n":       "",
		"x[^1] y[^1]\n\n[^1]: *z*\n":        "FootnoteLink FootnoteLink Footnote",
		"www.a.b?q=$1 www.a.b, me@www.a.b.": "AutoLink AutoLink AutoLink",
	} {
		page, err := Parse([]byte(source))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		page.walk(func(n ast.Node) bool {
			switch n.Kind() {
			case ast.KindLink, ast.KindAutoLink, extast.KindTable, extast.KindTaskCheckBox, extast.KindFootnote, extast.KindFootnoteLink:
				got = append(got, n.Kind().String())
			}
			return true
		})
		if strings.Join(got, " ") != want {
			t.Errorf("%q has %q, not %q", source, got, want)
		}
	}
}
