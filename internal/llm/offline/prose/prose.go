// Package prose turns what sources say about themselves into Markdown: doc comments of Go,
// docstrings, JSDoc, rustdoc and the text of a README.
//
// It promises that whatever the text is, the blocks are well formed by themselves: a fence
// is closed and longer than any in it, nothing that was plain becomes markup, no comment,
// tag or script passes, and headings go down one level at a time from the level asked for.
// It adds no words of its own, but for the names of lists such as "Parameters".
package prose

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Kind of a block.
type Kind int

// The kinds of blocks.
const (
	Paragraph Kind = iota
	Heading
	List
	Code
	Table
	Quote
)

// Block is a piece of Markdown.
type Block struct {
	Kind     Kind
	Text     string // Markdown; of code the bare lines, of a heading its words
	Level    int    // of a heading
	Language string // of code
}

// String is the block as it stands on a page, without a line feed.
func (b Block) String() string {
	switch b.Kind {
	case Heading:
		return strings.Repeat("#", b.Level) + " " + b.Text
	case Code:
		return Fence(b.Text, b.Language)
	case Paragraph:
		return Wrap(guard(b.Text), "")
	}
	return b.Text
}

var blockStart = lazily("^(?:#{1,6}(?: |$)|[-+*] |[-+*]$|>|\\||~~~|```|(\\d{1,9})[.)](?: |$))")

// guard keeps a line of prose from being taken for another block.
func guard(s string) string {
	m := blockStart().FindStringSubmatch(s)
	switch {
	case m == nil:
		return s
	case m[1] != "":
		return m[1] + "\\" + s[len(m[1]):]
	}
	return "\\" + s
}

// Fence is code between marks that do not stand in it.
func Fence(code, language string) string {
	code = seen(code)
	mark := "```"
	for strings.Contains(code, mark) {
		mark += "`"
	}
	if !word().MatchString(language) {
		language = ""
	}
	return mark + language + "\n" + strings.TrimRight(code, "\n") + "\n" + mark
}

var word = lazily(`^[A-Za-z0-9+#_-]{1,20}$`)

// lazily compiles a pattern when it is first needed.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// longest is how many bytes of a text are read.
const longest = 32 << 10

// Blocks reads a text that stands in a source of a language; README and other Markdown has
// none. Its headings begin at level.
func Blocks(text, language string, level int) []Block {
	text = seen(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
	if len(text) > longest { // no source says as much about itself
		text = strings.ToValidUTF8(text[:longest], "")
	}
	var out []Block
	switch language {
	case "go":
		out = goDoc(text)
	case "python":
		out = docstring(text)
	case "javascript", "typescript":
		out = jsDoc(text, language)
	case "rust":
		out = markdown(text, "rust")
	default:
		out = markdown(text, "")
	}
	return settle(out, level)
}

// seen takes out characters that nobody sees, and repairs what is no UTF-8.
func seen(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\ufeff' || r == '\u2028' || r == '\u2029' || r >= 0xe0000 && r <= 0xe007f) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// settle drops empty blocks and lets headings go down one at a time.
func settle(in []Block, level int) []Block {
	var out []Block
	highest := 7
	for _, b := range in {
		if b.Kind == Heading {
			highest = min(highest, b.Level)
		}
	}
	last := level - 1
	for i, b := range in {
		switch {
		case strings.TrimSpace(b.Text) == "":
			continue
		case b.Kind == Paragraph && strings.HasSuffix(b.Text, ":") && (i == len(in)-1 || in[i+1].Kind == Heading):
			continue // what it announces was left out
		case b.Kind == Paragraph && note().MatchString(b.Text):
			continue // its authors wrote it to themselves
		case b.Kind == Heading:
			b.Level = min(b.Level-highest+level, last+1, 6)
			last = b.Level
			// A heading right under another of the same level had nothing to say.
			if n := len(out); n > 0 && out[n-1].Kind == Heading && out[n-1].Level >= b.Level {
				out = out[:n-1]
			}
		}
		out = append(out, b)
	}
	for n := len(out); n > 0 && out[n-1].Kind == Heading; n-- {
		out = out[:n-1]
	}
	return out
}

var note = lazily(`^(?:TODO|FIXME|XXX|HACK)\b`)

// width is how wide a line of prose becomes.
const width = 96

// Wrap breaks a paragraph into lines. Code is not broken, and no line begins like another
// kind of block.
func Wrap(text, indent string) string {
	var lines []string
	line := ""
	for _, w := range pieces(text) {
		if line != "" && len(indent)+len(line)+1+len(w) > width && !starts().MatchString(w) {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"+indent)
}

// starts is what a line cannot begin with and stay a paragraph.
var starts = lazily("^(?:[-+*]$|#{1,6}$|[>|<]|[-=]+$|[_*-]{3,}|\\d{1,9}[.)]$|```|~~~|\\[[^\\]]*\\]:)")

// pieces are the words of a text; what stands in backticks is one.
func pieces(text string) []string {
	var out []string
	open := ""
	for _, w := range strings.Fields(text) {
		if open != "" {
			open += " " + w
		} else {
			open = w
		}
		if strings.Count(open, "`")%2 == 1 && len(open) < 4*width {
			continue
		}
		if strings.HasPrefix(open, "[") && !strings.Contains(open, "]") && len(open) < width/2 {
			continue // the words of a link
		}
		out, open = append(out, open), ""
	}
	if open != "" {
		out = append(out, strings.Fields(open)...)
	}
	return out
}
