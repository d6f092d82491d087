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

	"ramet/internal/base/fault"
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
	if err := (Limits{maxMarks, maxDepth, maxCells, maxWork}).Check(source); err != nil {
		return nil, err
	}
	defer func() {
		// Pages come from anywhere, and the parser may panic.
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
	p.Root = gitHub().Parse(text.NewReader(masked(source, p.Front)))
	return p, nil
}

// Line returns the number, from 1, of the line that a byte stands on.
func (p *Page) Line(offset int) int {
	i, found := slices.BinarySearch(p.starts, offset)
	if found {
		return i + 1
	}
	return max(i, 1)
}

// Lines returns how many lines the page has.
func (p *Page) Lines() int {
	if len(p.Source) == 0 {
		return 0
	}
	return len(p.starts)
}

// Text returns a line without its end.
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

// LineOf returns the line that a node begins on.
func (p *Page) LineOf(n ast.Node) int { return p.Line(max(n.Pos(), p.Front)) }

// frontMatter returns the length of the YAML that a page may begin with.
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

// masked returns the page with blank lines in place of its first bytes.
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
