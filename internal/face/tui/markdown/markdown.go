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

// Style is the part of a colour code between ESC [ and m, like "1;34". Empty is
// no style.
type Style string

// Of writes a text, which holds no styles, in a style.
func (s Style) Of(text string) string {
	text = detach(text)
	if s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[m"
}

// detach removes variation selectors at the beginning of a text: they would widen the character before it.
func detach(s string) string { return strings.TrimLeft(s, "\ufe0f") }

func join(a, b Style) Style {
	if a == "" || b == "" {
		return a + b
	}
	return a + ";" + b
}

// Theme holds the style of each part. Where a heading, emphasis or code in a line has no style,
// the signs of Markdown stay, so that it can still be told apart. Themes can be
// compared.
type Theme struct {
	Heading, Strong, Emphasis, Strike, Code, Link, Address Style
	Quote, Bullet, Rule, TableHead, TableLine              Style
	Plain                                                  Style // code without a language
	Keyword, String, Comment, Number, Key                  Style
	Added, Removed, Hunk                                   Style
	AddedGround, RemovedGround                             Style // behind code in a patch; empty: such a line has one colour
	Ground                                                 Style // behind what the user said; empty: none
	Clear                                                  bool  // nothing is faint, on the whole screen
}

// Dark returns the theme for light text on a dark ground, 256 colours.
func Dark() Theme {
	return Theme{
		Heading: "1;38;5;111", Strong: "1", Emphasis: "3", Strike: "9", Code: "38;5;180", Link: "4;38;5;75", Address: "38;5;244",
		Quote: "38;5;245", Bullet: "38;5;111", Rule: "38;5;240", TableHead: "1", TableLine: "38;5;240",
		Keyword: "38;5;176", String: "38;5;114", Comment: "38;5;245", Number: "38;5;173", Key: "38;5;75",
		Added: "38;5;114", Removed: "38;5;203", Hunk: "38;5;75", Ground: "48;5;236",
		AddedGround: "48;5;22", RemovedGround: "48;5;52",
	}
}

// Light returns the theme for dark text on a light ground, 256 colours.
func Light() Theme {
	return Theme{
		Heading: "1;38;5;25", Strong: "1", Emphasis: "3", Strike: "9", Code: "38;5;130", Link: "4;38;5;25", Address: "38;5;241",
		Quote: "38;5;241", Bullet: "38;5;25", Rule: "38;5;248", TableHead: "1", TableLine: "38;5;248",
		Keyword: "38;5;90", String: "38;5;28", Comment: "38;5;243", Number: "38;5;130", Key: "38;5;25",
		Added: "38;5;28", Removed: "38;5;160", Hunk: "38;5;25", Ground: "48;5;254",
		AddedGround: "48;5;194", RemovedGround: "48;5;224",
	}
}

// Contrast returns the theme for people who need strong differences: bold and underlined where others are
// dim, the palette's own bright colours, no greys.
func Contrast() Theme {
	return Theme{
		Heading: "1;4", Strong: "1", Emphasis: "3;4", Strike: "9", Code: "1;7", Link: "4", Address: "4",
		Quote: "3", Bullet: "1", TableHead: "1;4",
		Keyword: "1", String: "4", Comment: "3", Number: "1", Key: "1",
		Added: "1;92", Removed: "1;91", Hunk: "1;96", Ground: "7", Clear: true,
	}
}

// Basic returns the theme for terminals with 16 colours; it is readable on any ground.
func Basic() Theme {
	return Theme{
		Heading: "1;34", Strong: "1", Emphasis: "3", Strike: "9", Code: "36", Link: "4;34", Address: "2",
		Quote: "2", Bullet: "34", Rule: "2", TableHead: "1", TableLine: "2",
		Keyword: "35", String: "32", Comment: "2", Number: "36", Key: "34",
		Added: "32", Removed: "31", Hunk: "36",
	}
}

// Mono has no colours (NO_COLOR), but bold, italic and underlined text.
func Mono() Theme {
	return Theme{
		Heading: "1", Strong: "1", Emphasis: "3", Strike: "9", Link: "4", Address: "2",
		Quote: "2", Rule: "2", TableHead: "1", TableLine: "2", Keyword: "1", Comment: "2", Added: "1", Removed: "2",
	}
}
