// Package markdown reads pages as GitHub shows them: GitHub Flavored Markdown with
// footnotes and front matter.
//
// # Promises
//
//   - Places are those of the page: every heading, link and block knows its line.
//   - Slugs of headings are GitHub's: small letters, marks, digits, "_" and "-" stay,
//     spaces become "-", the n-th repetition ends in "-n".
//   - No page brings it down: one that is too large, or that the parser cannot cope
//     with, is an INVALID_TEXT fault.
//
// It reads only. Nothing is rendered, and nothing is fetched.
package markdown

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"ramet/internal/fault"
)

// MaxSize is the size in bytes of the largest page that is read. GitHub shows larger
// ones as plain text.
const MaxSize = 512 << 10

// Page is a page that was read.
type Page struct {
	Source []byte
	Root   ast.Node
	Front  int // bytes of front matter that the page begins with

	starts []int // of the lines
}

// Parse reads a page.
func Parse(source []byte) (page *Page, err error) {
	if len(source) > MaxSize {
		return nil, fault.New(fault.InvalidText, "read page: it has %d bytes, over the limit of %d", len(source), MaxSize).
			WithHint("split it into several pages")
	}
	if err := tangled(source); err != nil {
		return nil, err
	}
	defer func() {
		// The parser is somebody else's, and pages come from anywhere.
		if r := recover(); r != nil {
			page, err = nil, fault.New(fault.InvalidText, "read page: the parser cannot cope with it: %v", r).
				WithHint("write it more plainly")
		}
	}()
	p := &Page{Source: source, Front: frontMatter(source), starts: []int{0}}
	for i, c := range source {
		if c == '\n' && i+1 < len(source) {
			p.starts = append(p.starts, i+1)
		}
	}
	p.Root = grammar().Parse(text.NewReader(masked(source, p.Front)))
	return p, nil
}

// Line is the number, from 1, of the line that a byte stands on.
func (p *Page) Line(offset int) int {
	i, found := slices.BinarySearch(p.starts, offset)
	if found {
		return i + 1
	}
	return max(i, 1)
}

// Lines is how many lines the page has.
func (p *Page) Lines() int {
	if len(p.Source) == 0 {
		return 0
	}
	return len(p.starts)
}

// Text is a line without its end.
func (p *Page) Text(line int) []byte {
	if line < 1 || line > p.Lines() {
		return nil
	}
	rest := p.Source[p.starts[line-1]:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return bytes.TrimSuffix(rest, []byte("\r"))
}

// LineOf is the line that a node begins on, or stands near where the parser does not
// tell.
func (p *Page) LineOf(n ast.Node) int { return p.Line(p.offset(n)) }

func (p *Page) offset(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if at, ok := begin(n); ok {
			return at
		}
		for before := n.PreviousSibling(); before != nil; before = before.PreviousSibling() {
			if at, ok := begin(before); ok {
				return at
			}
		}
	}
	return p.Front
}

// begin is where a node begins, as far as it or its children tell.
func begin(n ast.Node) (int, bool) {
	if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 && n.Kind() != ast.KindFencedCodeBlock {
		return n.Lines().At(0).Start, true
	}
	if at, ok := n.AttributeString(placeName); ok {
		return at.(int), true
	}
	switch n := n.(type) {
	case *ast.Text:
		return n.Segment.Start, true
	case *ast.RawHTML:
		if n.Segments.Len() > 0 {
			return n.Segments.At(0).Start, true
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if at, ok := begin(c); ok {
			return at, true
		}
	}
	return 0, false
}

// frontMatter is the length of the YAML that a page may begin with.
func frontMatter(source []byte) int {
	line := func(at int) ([]byte, int) {
		end := bytes.IndexByte(source[at:], '\n')
		if end < 0 {
			return source[at:], len(source)
		}
		return bytes.TrimSuffix(source[at:at+end], []byte("\r")), at + end + 1
	}
	first, at := line(0)
	if string(first) != "---" {
		return 0
	}
	key := false
	for at < len(source) {
		text, next := line(at)
		switch {
		case string(text) == "---" || string(text) == "...":
			if key {
				return next
			}
			return 0
		case len(text) > 0 && text[0] != '#' && text[0] != ' ' && text[0] != '-':
			// A table of keys, and not a text between two rules.
			name, _, found := bytes.Cut(text, []byte(":"))
			if !found || bytes.ContainsAny(name, " \t*`[") {
				return 0
			}
			key = true
		}
		at = next
	}
	return 0
}

// masked is the page with blank lines in place of its first bytes.
func masked(source []byte, front int) []byte {
	if front == 0 {
		return source
	}
	out := slices.Clone(source)
	for i := range out[:front] {
		if out[i] != '\n' && out[i] != '\r' {
			out[i] = ' '
		}
	}
	return out
}
